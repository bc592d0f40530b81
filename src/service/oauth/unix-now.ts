/** Now in whole seconds since 1970, as OAuth counts. */
export const unixNow = (): number => Math.floor(Date.now() / 1000)
