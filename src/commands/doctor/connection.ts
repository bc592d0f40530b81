import type { TLSSocket } from 'node:tls'
import { hintOfModelServer, nameModelServer } from '../../cli/context/connection.ts'
import { credentialInUse } from '../../cli/credential/credential-in-use.ts'
import { hintOf } from '../../cli/errors/hints.ts'
import { networkFailure } from '../../client/network/network-failure.ts'
import { readBaseUrl } from '../../contract/base-url.ts'
import { Failure } from '../../contract/failure.ts'
import { describeModelServer } from '../../contract/model-server-address.ts'
import { Interrupted } from '../../system/network/transport.ts'
import { countOf } from '../../view/format/quantities.ts'
import { type Doctor, type Examined, ok, skipped, warning } from './finding.ts'

const day = 86_400_000

/** A certificate with less time than this, in ms, should have been renewed. */
const renewalTime = 14 * day

/** Name resolution, connection, TLS, and proxy. @throws Failure of the network */
export async function examineNetwork({ context, bound }: Doctor): Promise<Examined[]> {
  const target = context.target()
  if (target.kind === 'local') return [skipped('network', 'not needed by the embedded service')]
  const base = readBaseUrl(target.baseUrl)
  const { createConnector } = await import('../../system/network/connector.ts')
  const { open, proxy } = createConnector(base, { env: context.env, connectTimeout: bound })
  const { clock } = context.host
  const startedAt = clock.monotonic()
  const socket = await open().catch((cause) => {
    throw networkFailure(new Interrupted('connect', cause), { method: 'GET', url: base.href })
  })
  const took = Math.round(clock.monotonic() - startedAt)
  const way = proxy ? `through the proxy ${proxy.named.address}` : `${base.host} is ${socket.remoteAddress}`
  const tls = 'getPeerCertificate' in socket ? (socket as TLSSocket) : undefined
  const validTo = tls && new Date(tls.getPeerCertificate().valid_to)
  const protocol = tls?.getProtocol()?.replace('TLSv', 'TLS ') ?? 'TLS'
  const secured = validTo
    ? `, ${protocol}, certificate valid until ${validTo.toISOString().slice(0, 10)}`
    : ''
  socket.destroy()
  const words = `${way}, connected in ${took} ms${secured}`
  const left = validTo ? validTo.getTime() - clock.now() : Number.POSITIVE_INFINITY
  if (left > renewalTime) return [ok('network', words)]
  const days = Math.max(0, Math.floor(left / day))
  return [
    warning(
      'network',
      `${words}: ${countOf(days, 'day')} left`,
      `The operator of ${base.host} must renew the certificate.`,
    ),
  ]
}

/** @throws Failure if no service is selected, or two contradict each other */
export function examineAddress({ context }: Doctor): Examined[] {
  const target = context.target()
  if (target.kind === 'remote') {
    return [ok('address', `${target.baseUrl}, from ${context.options.base_url.from}`)]
  }
  const why = target.named ? `${context.options.profile.from} selects it` : 'no profile or base URL is set'
  return [ok('address', `the embedded service: ${why}`)]
}

/** Which credential is in use, without the secret. @throws Failure `unauthorized` without a credential */
export async function examineCredential({ context }: Doctor): Promise<Examined[]> {
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
export async function examineKeychain({ context, bound }: Doctor): Promise<Examined[]> {
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

/** What produces the replies of the embedded service, and whether it responds. @throws Failure for an invalid value */
export async function examineModelServer({ context }: Doctor): Promise<Examined[]> {
  if (context.target().kind === 'remote') {
    return [skipped('model server', 'only the embedded service, which is not selected, has one')]
  }
  const choice = context.embedded.modelServer()
  const { server, source, from } = choice
  if (!server) {
    const chosen = source === 'default' ? 'none is set' : `none, from ${from}`
    const hint = 'Get replies from a model with: chatctl config set model_server=ollama'
    return [ok('model server', `${chosen}; the built-in test program replies`, hint)]
  }
  const place = `${describeModelServer(server.url)}, from ${from}`
  try {
    const models = await context.embedded.countModelServerModels(server)
    if (models > 0) return [ok('model server', `${place}, has ${countOf(models, 'model')}`)]
    return [warning('model server', `${place}, has no models`, 'Add a model to the model server.')]
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'unreachable') throw error
    const service = { modelServer: server.url, modelServerFrom: choice }
    const hint = hintOfModelServer(error, service)
    throw new Failure('unreachable', `${nameModelServer(error.message, server.url)}, from ${from}`, { hint })
  }
}
