/** Of a password of the embedded service, in characters. Not in user.ts, which loads zod. */
export const passwordLength = { min: 8, max: 1024 } as const
