import { credentialExpiryHeader } from '../../contract/headers.ts'
import type { Clock } from '../../system/clock.ts'
import { ApiError } from '../api-error.ts'
import { KeyAuthenticator } from '../domain/access/key-authenticator.ts'
import { type Principal, requiredPermissions } from '../domain/access/permissions.ts'
import { SettingsCache } from '../domain/settings-cache.ts'
import { enforceRateLimits, limitsOf, RateLimiter } from '../limits/rate-limiter.ts'
import type { Metrics } from '../metrics/create-metrics.ts'
import { isOfInterface, isOpenAiPath, openAiEndpoints } from '../openai-endpoints.ts'
import type { ReplySource } from '../replies/reply-source.ts'
import type { Store } from '../store/tables.ts'
import { toApiError } from '../to-api-error.ts'
import { handleEndpoint, RequestSignals, type ServerResources } from './handle-endpoint.ts'
import { findPublicRoute, type PublicRoutesOptions, Readiness } from './public/public-routes.ts'
import { authenticate, authorize, type CredentialSources, type IsProcessKey } from './request/authenticate.ts'
import { applyCors } from './request/cors.ts'
import { findPath, type KnownPath } from './request/find-endpoint.ts'
import { hasBody, parseBody, requireJson } from './request/parse-json.ts'
import { openAiErrorResponse } from './response/openai-error.ts'
import {
  type BodyRules,
  errorResponse,
  type FailureSink,
  logFailure,
  MiB,
  type ResponseHeaders,
  refusalOf,
  type ServiceRequest,
  type ServiceResponse,
} from './service-request.ts'

export interface PipelineOptions extends Partial<Omit<PublicRoutesOptions, 'readiness'>> {
  store: Store
  replySource: ReplySource
  isProcessKey: IsProcessKey
  /** Aborted when requests in progress must end. */
  stopping: AbortSignal
  /** For failures that belong to no request. Undefined: nothing is logged. */
  logger?: (FailureSink & { warn(details: object, message: string): void }) | undefined
  clock: Clock
  /** Shared with the admin server. Default: a new one. */
  readiness?: Readiness | undefined
  /** Undefined: nothing is counted. */
  metrics?: Metrics | undefined
  /** Whether it has the endpoints for OpenAI clients. Default: yes. */
  servesOpenAi?: boolean | undefined
  /** The fields that a request of an OpenAI client may have, besides the usual ones. Default: all. */
  openAiFields?: readonly string[] | undefined
  /** Maximum bytes of the body of such a request, which may contain images. Default: 32 MiB. */
  openAiBodyLimit?: number | undefined
}

/**
 * Answers the requests of the interface and of the public paths: the same for HTTP and for the process
 * itself. Only the OAuth server is not part of it.
 */
export class RequestPipeline {
  readonly readiness: Readiness
  readonly #options: PipelineOptions
  readonly #keys: KeyAuthenticator
  readonly #credentials: CredentialSources
  readonly #limiter: RateLimiter
  readonly #resources: ServerResources
  readonly #public: PublicRoutesOptions
  readonly #bodies: BodyRules = { max: 4 * MiB, maxReceiving: Infinity, receiving: 0, anyKeys: false }
  readonly #openAiBodies: BodyRules

  constructor(options: PipelineOptions) {
    const { store, replySource, isProcessKey, logger, clock, version, publicUrl } = options
    this.#options = options
    const onFailure = (error: ApiError) => logFailure(logger, error)
    this.readiness = options.readiness ?? new Readiness(store.db, clock, onFailure)
    this.#keys = new KeyAuthenticator(store, clock)
    this.#credentials = { keys: this.#keys, db: store.db, isProcessKey, clock }
    this.#limiter = new RateLimiter(
      store.openCounters((message, err) => logger?.warn({ err }, message)),
      clock,
    )
    this.#public = { readiness: this.readiness, version, publicUrl }
    const { openAiBodyLimit: max = 32 * MiB } = options
    this.#openAiBodies = { max, maxReceiving: 64 * MiB, receiving: 0, anyKeys: true }
    this.#resources = {
      store,
      replySource,
      settingsCache: new SettingsCache(store),
      openAiFields: options.openAiFields,
      signals: new RequestSignals(options.stopping),
      onFailure: (error, log) => this.#record(toApiError(error), log),
      clock,
    }
  }

  /** Never rejects: a failure is an error response. */
  async respond(request: ServiceRequest): Promise<ServiceResponse> {
    const headers: ResponseHeaders = {}
    try {
      const preflight = this.begin(request, headers)
      return (preflight && (await preflight)) ?? (await this.#answer(request, headers))
    } catch (error) {
      const respondWith = this.#isForOpenAi(request.url) ? openAiErrorResponse : errorResponse
      return this.fail(error, headers, request.log, respondWith)
    }
  }

  /** The first step for a request of any path. @returns the response to a CORS preflight, as `applyCors` */
  begin(request: ServiceRequest, headers: ResponseHeaders): Promise<ServiceResponse | undefined> | undefined {
    headers['x-request-id'] = request.id
    return applyCors(this.#resources.settingsCache, request, headers)
  }

  /** The error response for anything that was thrown while a request was handled. */
  fail(
    error: unknown,
    headers: ResponseHeaders,
    log: FailureSink | undefined,
    respondWith: (apiError: ApiError, headers: ResponseHeaders) => ServiceResponse = errorResponse,
  ): ServiceResponse {
    return respondWith(this.#record(toApiError(error), log), headers)
  }

  /** @throws ApiError `storage_migrated`; errors of the database */
  async checkSchema(): Promise<void> {
    await this.#resources.settingsCache.read()
  }

  /** The principal of a credential. @throws ApiError `unauthorized` */
  async authenticate(credential: string): Promise<Principal> {
    return authenticate(this.#credentials, { authorization: `Bearer ${credential}` })
  }

  #record(apiError: ApiError, log: FailureSink | undefined): ApiError {
    logFailure(log, apiError)
    this.#options.metrics?.countError(apiError.code)
    return apiError
  }

  /** Waits for what requests have started, such as counts. Call it when no request is in progress. */
  async close(): Promise<void> {
    await this.#keys.close()
    await this.#limiter.close()
  }

  #isForOpenAi(url: string): boolean {
    return this.#options.servesOpenAi !== false && isOpenAiPath(url)
  }

  async #answer(request: ServiceRequest, headers: ResponseHeaders): Promise<ServiceResponse> {
    const [path = ''] = request.url.split('?', 1)
    const { method } = request
    const isForOpenAi = this.#isForOpenAi(path)
    const found = findPath(path)
    // Only their plain paths are for OpenAI clients: an encoded one must not be served if they are turned off.
    const known = isForOpenAi || [...(found?.methods.values() ?? [])].every(isOfInterface) ? found : undefined
    const publicRoute = findPublicRoute(path)
    if (publicRoute && (method === 'GET' || method === 'HEAD')) {
      request.endpoint = publicRoute.label
      headers['cache-control'] = 'no-store'
      return publicRoute.respond(this.#public, request, headers)
    }
    const name = known?.methods.get(method)
    if (name !== undefined) request.endpoint = name
    // An unknown path requires a key only below the paths of endpoints.
    if (!known && !isForOpenAi && !/^\/(v1|api)(\/|$)/.test(path))
      throw unmatched(request, path, known, headers)
    const caller = authenticate(this.#credentials, request.headers)
    // Most are known immediately, and an `await` would cost as much as the search.
    const principal = caller instanceof Promise ? await caller : caller
    request.keyId = principal.keyId
    if (principal.expiresAt !== null) headers[credentialExpiryHeader] = principal.expiresAt
    const current = this.#resources.settingsCache.read()
    const settings = current instanceof Promise ? await current : current
    if (principal.isRateLimited) {
      const admission = await this.#limiter.admit(principal.keyId, limitsOf(principal, settings))
      enforceRateLimits(admission, headers, this.#options.metrics)
    }
    if (!known && isForOpenAi)
      throw new ApiError('not_found', `Unknown path ${path}; use one of ${openAiPaths}`)
    if (!known || name === undefined) throw unmatched(request, path, known, headers)

    // Before the body is read: without the permission, a client does not learn what is wrong with its body.
    const permission = requiredPermissions[name]
    authorize(principal, permission)
    // The body of a GET has no meaning.
    const rules = isForOpenAi ? this.#openAiBodies : this.#bodies
    const body = method === 'GET' || method === 'HEAD' ? undefined : await readBody(request, rules)
    const confirm = async () => {
      const current = await authenticate(this.#credentials, request.headers)
      authorize(current, permission)
      return current
    }
    const authorized = { name, id: known.id, principal, request, body, confirm }
    return await handleEndpoint(authorized, this.#resources, headers)
  }
}

const openAiPaths = Object.values(openAiEndpoints)
  .map(({ path }) => path)
  .join(', ')

/** The parsed body. Undefined if there is none. */
async function readBody(request: ServiceRequest, rules: BodyRules): Promise<unknown> {
  requireJson(request)
  if (!hasBody(request)) return undefined
  const refusal = refusalOf(Number(request.headers['content-length']), rules)
  if (refusal) throw refusal
  return parseBody(await request.readBody(rules), rules)
}

/** The error for a request that matches no endpoint: 405 with Allow if the path exists, otherwise 404. */
function unmatched(
  { method }: ServiceRequest,
  path: string,
  known: KnownPath | undefined,
  headers: ResponseHeaders,
): ApiError {
  const methods = findPublicRoute(path) ? ['GET', 'HEAD'] : [...(known?.methods.keys() ?? [])]
  if (methods.length === 0) return new ApiError('not_found', `Unknown path ${path}`)
  headers['allow'] = methods.join(', ')
  return new ApiError('method_not_allowed', `${path} supports ${methods.join(', ')}, not ${method}`)
}
