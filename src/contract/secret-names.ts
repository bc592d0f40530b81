/** A field or a query parameter of such a name holds a secret; `max_tokens` does not. */
export const secretField = /(^|[_-])(password|passwd|secret|token|api_?key|authorization)$/i

/** A query parameter or a header of such a name may hold a secret. */
export const secretParameter =
  /key|token|secret|password|passwd|credential|signature|authorization|session|^code$|^sig$/i
