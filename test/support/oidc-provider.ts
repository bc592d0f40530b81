import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type JWTPayload, SignJWT } from 'jose'
import Provider, {
  type Adapter,
  type AdapterPayload,
  type Configuration,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import { type ScriptedServer, startScriptedServer } from './scripted-server.ts'

export interface OidcProviderOptions {
  /** Lifetime of an access token in seconds (default: one hour). */
  accessTokenLife?: number
  /** Whether a request without PKCE (RFC 7636) is refused (default: true). */
  requiresPkce?: boolean
  /** The scopes that a client may request. */
  scopes?: string[]
}

/** A request to the token endpoint, and its outcome. */
interface Grant {
  type: string
  params: Record<string, unknown>
  /** The error code of RFC 6749 section 5.2, if the request was refused. */
  error?: string
}

export interface OidcProvider extends ScriptedServer {
  /** A public native client (RFC 8252): no secret, any port of the loopback redirect URIs. */
  clientId: string
  /** A client that authenticates with an identity token (RFC 7523 section 2.2). */
  jobId: string
  /** Signs an identity token of the job. By default, it is valid for 5 minutes. */
  signIdentity(claims?: JWTPayload): Promise<string>
  grants: Grant[]
  /** The number of grants of one type that were given or refused. */
  count(
    type: 'authorization_code' | 'refresh_token' | 'client_credentials',
    ending?: 'given' | 'refused',
  ): number
  /** Tokens sent to the revocation endpoint (RFC 7009). */
  revoked: string[]
  /** Whether an access token would be accepted now. */
  isLive(accessToken: string): Promise<boolean>
  /** Expires all access tokens. Refresh tokens stay valid. */
  endAccessTokens(): void
}

const clientId = 'chatctl-test'
const jobId = 'job'

const jobKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** RFC 8628 section 3.4. */
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Starts a real authorization server (oidc-provider) on a free loopback port of this process. */
export async function startOidcProvider(options: OidcProviderOptions = {}): Promise<OidcProvider> {
  const store = createMemoryStore()
  // The issuer contains the port, so the server must listen before the provider is created.
  const server = await startScriptedServer()
  const { url } = server
  const provider = new Provider(url, configure(options, store))
  const { grants, revoked } = watchGrants(provider)
  const serve = provider.callback()
  await server.serve(async ({ path, body }, response, incoming) => {
    const unread = unreadAgain(incoming, body)
    if (!path.startsWith(interactionPath)) return serve(unread, response)
    await handleInteraction(provider, unread, response).catch((error: Error) =>
      response.writeHead(400).end(String(error)),
    )
  })
  return Object.assign(server, {
    clientId,
    jobId,
    signIdentity: (claims) => {
      const seconds = Math.floor(Date.now() / 1000)
      const standard = { iss: jobId, sub: jobId, aud: url, iat: seconds, exp: seconds + 300 }
      return new SignJWT({ ...standard, jti: randomUUID(), ...claims })
        .setProtectedHeader({ alg: 'ES256' })
        .sign(jobKey.privateKey)
    },
    grants,
    count: (type, ending = 'given') =>
      grants.filter((grant) => grant.type === type && (grant.error === undefined) === (ending === 'given'))
        .length,
    revoked,
    isLive: async (accessToken) =>
      ((await provider.AccessToken.find(accessToken)) ??
        (await provider.ClientCredentials.find(accessToken))) !== undefined,
    endAccessTokens: () => store.forget('AccessToken'),
  } satisfies Omit<OidcProvider, keyof ScriptedServer>)
}

/** A request whose body was read, for a listener of node:http, which reads it itself. */
function unreadAgain({ socket, method, url, headers }: IncomingMessage, body: string): IncomingMessage {
  const unread = new IncomingMessage(socket)
  Object.assign(unread, { method, url, headers, complete: true })
  unread.push(body)
  unread.push(null)
  return unread
}

/** Sets every option for which oidc-provider would choose a value and print a warning. */
function configure(options: OidcProviderOptions, { adapter }: MemoryStore): Configuration {
  const { accessTokenLife = 3600, requiresPkce = true, scopes = ['chat:read', 'chat:write'] } = options
  const day = 86_400
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    adapter,
    clients: [
      {
        client_id: clientId,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token', deviceGrant],
        redirect_uris: ['callback', 'oauth/done'].flatMap((path) => [
          `http://127.0.0.1/${path}`,
          `http://[::1]/${path}`,
        ]),
        id_token_signed_response_alg: 'ES256',
      },
      {
        client_id: jobId,
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        jwks: { keys: [jobKey.publicKey.export({ format: 'jwk' })] },
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    clientBasedCORS: () => false,
    cookies: { keys: [randomBytes(16).toString('hex')] },
    expiresWithSession: () => false,
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: {
        enabled: true,
        // After an error, such as a denial, it would show the form again.
        userCodeInputSource: (ctx, form, _, error) => showPage(ctx, error ? 'The code is not valid.' : form),
        userCodeConfirmSource: (ctx, form) => showPage(ctx, form),
        successSource: (ctx) => showPage(ctx, 'You are signed in on the device.'),
      },
      devInteractions: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      rpInitiatedLogout: { enabled: false },
    },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_, { uid }) => `${interactionPath}${uid}` },
    issueRefreshToken: () => true,
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'test' }] },
    pkce: { required: () => requiresPkce },
    renderError: (ctx, { error, error_description }) => {
      ctx.type = 'text'
      ctx.body = `${error}: ${error_description}`
    },
    rotateRefreshToken: true,
    routes: { authorization: '/oauth/authorize', token: '/oauth/token', revocation: '/oauth/revoke' },
    scopes,
    ttl: {
      AccessToken: accessTokenLife,
      AuthorizationCode: 60,
      ClientCredentials: accessTokenLife,
      DeviceCode: 600,
      Grant: day,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: day,
      Session: day,
    },
  }
}

function showPage(ctx: KoaContextWithOIDC, content: string): void {
  ctx.type = 'html'
  ctx.body = content
}

function watchGrants(provider: Provider): Pick<OidcProvider, 'grants' | 'revoked'> {
  const grants: Grant[] = []
  const revoked: string[] = []
  const record = (ctx: KoaContextWithOIDC, error?: string): void => {
    const params = { ...ctx.oidc.params }
    const type = String(params['grant_type'])
    grants.push({ type, params, ...(error !== undefined && { error }) })
  }
  provider.on('grant.success', (ctx) => record(ctx))
  provider.on('grant.error', (ctx, { error }) => record(ctx, error))
  provider.use(async (ctx, next) => {
    await next()
    if (ctx.path === '/oauth/revoke') revoked.push(String(ctx['oidc']?.params?.token))
  })
  return { grants, revoked }
}

/** The storage of one authorization server, by model and ID. */
interface MemoryStore {
  /** For the configuration of oidc-provider. */
  adapter(model: string): Adapter
  /** Deletes all entries of one model, such as `AccessToken`. */
  forget(model: string): void
}

/** The default storage of oidc-provider is shared in the process, and prints a warning at each start. */
function createMemoryStore(): MemoryStore {
  const models = new Map<string, Map<string, AdapterPayload>>()
  const open = (model: string): Map<string, AdapterPayload> => {
    const items = models.get(model) ?? new Map()
    models.set(model, items)
    return items
  }
  return { adapter: (model) => createAdapter(open(model), models), forget: (model) => open(model).clear() }
}

function createAdapter(
  items: Map<string, AdapterPayload>,
  models: ReadonlyMap<string, Map<string, AdapterPayload>>,
): Adapter {
  const findBy = async (key: 'uid' | 'userCode', value: string): Promise<AdapterPayload | undefined> =>
    [...items.values()].find((payload) => payload[key] === value)
  return {
    upsert: async (id, payload) => void items.set(id, payload),
    // oidc-provider checks `exp` itself.
    find: async (id) => items.get(id),
    findByUid: (uid) => findBy('uid', uid),
    findByUserCode: (userCode) => findBy('userCode', userCode),
    consume: async (id) => {
      const payload = items.get(id)
      if (payload) payload['consumed'] = Math.floor(Date.now() / 1000)
    },
    destroy: async (id) => void items.delete(id),
    revokeByGrantId: async (grantId) => {
      for (const all of models.values()) {
        for (const [id, payload] of all) if (payload.grantId === grantId) all.delete(id)
      }
    },
  }
}

/** The path of the pages. */
const interactionPath = '/interaction/'

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

/** Shows the page of an interaction on GET, and handles the submitted form on POST. */
async function handleInteraction(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const interaction = await provider.interactionDetails(request, response)
  if (request.method !== 'POST') return showInteraction(interaction, response)
  const form = new URLSearchParams(await text(request))
  const result = await decide(provider, interaction, form)
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true })
}

async function decide(
  provider: Provider,
  { prompt, params, session }: Interaction,
  form: URLSearchParams,
): Promise<Parameters<Provider['interactionFinished']>[2]> {
  if (form.get('decision') === 'deny') {
    return { error: 'access_denied', error_description: 'The user denied the request' }
  }
  if (prompt.name === 'login') return { login: { accountId: form.get('user') ?? '' } }
  const grant = new provider.Grant({ accountId: session?.accountId, clientId: String(params['client_id']) })
  grant.addOIDCScope(String(params['scope'] ?? ''))
  return { consent: { grantId: await grant.save() } }
}

/** Plain forms, which a browser or `sign-in-by-http.ts` can fill in. */
function showInteraction({ uid, prompt, params }: Interaction, response: ServerResponse): void {
  const isLogin = prompt.name === 'login'
  const fields = isLogin
    ? '<label>Name <input name="user"></label> <label>Password <input name="password" type="password"></label>'
    : `<p>It asks for: ${escapeHtml(String(params['scope'] ?? ''))}</p>`
  const title = isLogin ? 'Log in' : 'Consent'
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html>
<html lang="en"><head><title>${title}</title><link rel="icon" href="data:,"></head><body><h1>${title}</h1>
<form method="post" action="${interactionPath}${uid}">
${fields}
<button name="decision" value="allow">Go on</button>
<button name="decision" value="deny">Deny</button>
</form></body></html>`)
}

function escapeHtml(words: string): string {
  return words.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
