/** A field or a query parameter of such a name holds a secret: `password`, `client_secret`, `X-Api-Key`; `max_tokens` does not. */
export const secretField =
  /(passwords?|passwd|passphrase|secrets?|token|credentials?|authorization|assertion|verifier|signature)$|(^|[^a-z0-9])(pwd|(api)?key|api[-_]?keys|cookies?|jwt|otp|pin|(authorization|backup|device|recovery|user|verification)_?codes?)$/i

/** A query parameter or a header of such a name may hold a secret. */
export const secretParameter =
  /key|token|secret|password|passwd|credential|signature|authorization|session|^code$|^sig$/i
