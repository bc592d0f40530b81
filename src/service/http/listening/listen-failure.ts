import { Failure } from '../../../contract/failure.ts'

/** Why nothing could listen there, in words; what is no such trouble stays what it is. */
export function listenFailure(cause: unknown, host: string, port: number, flag = '--port'): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  switch (code) {
    case 'EADDRINUSE':
      return new Failure('conflict', `Port ${port} on ${host} is in use`, {
        hint: `Choose another one with ${flag}, or ${flag} 0 for any that is free`,
        cause,
      })
    case 'EACCES':
      return new Failure('refused', `Port ${port} may not be used by this user`, {
        hint: `Choose one above 1023 with ${flag}`,
        cause,
      })
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new Failure('config', `This machine has no address ${host}`, { cause })
    default:
      return cause
  }
}
