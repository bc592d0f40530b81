import { credentialInUse } from '../../cli/credential/credential-in-use.ts'
import { hintOf } from '../../cli/errors/hints.ts'
import { Failure } from '../../contract/failure.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Examined, ok, skipped, warning } from './finding.ts'

/** Which credential is in use, without the secret. @throws Failure `unauthorized` without a credential */
export async function examineCredential({ context }: DoctorContext): Promise<Examined[]> {
  const target = context.target()
  const signedIn = context.credentials.signedIn()
  const used = await credentialInUse(target, signedIn, context.credentials.held())
  const kind = used.kind === 'oauth' ? 'OAuth' : 'API key'
  const end = used.expires_at === null ? '' : `, expires ${used.expires_at}`
  const isPlain = target.kind === 'local' || used.kind === null
  const words = isPlain ? used.credential : `${used.credential} (${kind}${end})`
  const isOver = used.expires_at !== null && Date.parse(used.expires_at) < context.host.clock.now()
  if (!isOver) return [ok('credential', words)]
  const stored = await signedIn?.stored()
  if (stored?.kind === 'oauth' && stored.refresh_token === undefined) {
    throw new Failure('unauthorized', `${words} has expired and has no refresh token`, {
      advice: [{ code: 'sign_in_again', profile: signedIn?.profile ?? '' }],
    })
  }
  return [ok('credential', `${words}, renewed with the next request`)]
}

/** Whether there is a keychain. It never prompts to unlock the keychain: only a command that needs it may. */
export async function examineKeychain({ context, bound }: DoctorContext): Promise<Examined[]> {
  const isNeeded = context.credentials.signedIn()?.storage === 'keychain'
  try {
    // On macOS, every access counts as a prompt, but a missing item shows none.
    const mayAsk = process.platform === 'darwin'
    const keychain = context.host.openKeychain({ timeout: bound, onWait: () => {}, mayAsk })
    const owner = { origin: 'https://doctor.invalid', profile: 'doctor', id: 'doctor' }
    await keychain.read(owner, context.signal)
    await keychain.demandPlace?.(owner)
    return [ok('keychain', `available${isNeeded ? '' : ', but not in use'}`)]
  } catch (error) {
    // What needs it has failed already, and says what to do.
    if (!(error instanceof Failure) || !error.code.startsWith('keychain_')) throw error
    if (!isNeeded) return [skipped('keychain', `not needed now. ${error.message}`)]
    return [warning('keychain', error.message, hintOf(error) ?? null)]
  }
}
