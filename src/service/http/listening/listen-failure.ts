import type { Listener } from '../../../contract/advice.ts'
import { Failure } from '../../../contract/failure.ts'

/** The Failure for an error of `listen`. Any other error is returned as it is. */
export function listenFailure(cause: unknown, host: string, port: number, listener: Listener): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  switch (code) {
    case 'EADDRINUSE':
      return new Failure('conflict', `Port ${port} on ${host} is already in use`, {
        advice: [{ code: 'other_port', listener }],
        cause,
      })
    case 'EACCES':
      return new Failure('refused', `This user is not allowed to listen on port ${port}`, {
        advice: [{ code: 'unprivileged_port', listener }],
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
