import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { apiErrorCodes } from '../api-error.ts'

/** In seconds, from a read of a small table to a model that takes minutes. */
const responseBuckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const modelServerBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600]

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/**
 * The metrics of the service. Each label has few values, which the service defines: never a path, a user,
 * a key, or a model, because clients choose these.
 */
export type Metrics = ReturnType<typeof createMetrics>

interface RequestEnd {
  /** An endpoint of the contract, a public route such as `healthz`, or `unknown`. */
  endpoint: string
  method: string
  /** 0 if the client disconnected before the end of the response. */
  status: number
  /** From the headers of the request to the end of the response. */
  seconds: number
}

export type ModelServerOperation = 'models' | 'completion' | 'stream'

/** `cancelled`: the client disconnected, or the service is stopping. */
export type ModelServerOutcome = 'ok' | 'error' | 'timeout' | 'cancelled'

/** Metrics of this process in prom-client, with its default metrics of memory, CPU, and the event loop. */
export function createMetrics(version: string) {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  // Gauges with the suffix of a counter, which the naming rules of Prometheus forbid. The same counts,
  // by type, are in nodejs_active_handles, nodejs_active_requests, and nodejs_active_resources.
  for (const kind of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${kind}_total`)
  new Gauge({
    name: 'chatctl_build_info',
    help: 'Version of the running service; always 1',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1)

  const http = createHttpMetrics(registers)
  const { modelServer, firstPiece, tokens } = createModelServerMetrics(registers)
  const countRequest = ({ endpoint, method, status }: Omit<RequestEnd, 'seconds'>) =>
    http.requests.inc({
      endpoint,
      method: methods.has(method) ? method : 'other',
      status: status === 0 ? 'aborted' : `${Math.floor(status / 100)}xx`,
    })

  return {
    beginRequest() {
      http.inFlight.inc()
    },
    endRequest(end: RequestEnd) {
      http.inFlight.dec()
      countRequest(end)
      http.seconds.observe({ endpoint: end.endpoint }, end.seconds)
    },
    /** Bytes that are not a request. */
    countUnparsed: () => countRequest({ endpoint: 'unparsed', method: 'other', status: 400 }),
    /** An error response, or a stream that ended in an error event, by its `error.code`. */
    countError: (code: string) => http.refusals.inc({ code }),
    /** The limiter admitted a request, or refused it because of the window that is used up. */
    countLimiterDecision: (outcome: 'admitted' | 'hour' | 'minute') => http.limited.inc({ outcome }),
    observeModelServer: (operation: ModelServerOperation, outcome: ModelServerOutcome, took: number) =>
      modelServer.observe({ operation, outcome }, took),
    observeFirstPart: (took: number) => firstPiece.observe(took),
    /** As the model server counts them. */
    countTokens(prompt: number, completion: number) {
      tokens.inc({ kind: 'prompt' }, prompt)
      tokens.inc({ kind: 'completion' }, completion)
    },
    /** In the text format of Prometheus. */
    write: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}

function createHttpMetrics(registers: Registry[]) {
  const inFlight = new Gauge({
    name: 'chatctl_http_requests_in_flight',
    help: 'Requests in progress',
    registers,
  })
  const requests = new Counter({
    name: 'chatctl_http_requests_total',
    help: 'Completed requests; status "aborted" if the client disconnected first',
    labelNames: ['endpoint', 'method', 'status'],
    registers,
  })
  const seconds = new Histogram({
    name: 'chatctl_http_request_duration_seconds',
    help: 'Seconds from the request head to the end of the response, including streams',
    labelNames: ['endpoint'],
    buckets: responseBuckets,
    registers,
  })
  const refusals = new Counter({
    name: 'chatctl_http_errors_total',
    help: 'Error responses, and streams that ended in an error event, by error.code',
    labelNames: ['code'],
    registers,
  })
  // An increase is measured from a first value, so the first error must not create its counter.
  for (const code of apiErrorCodes) refusals.inc({ code }, 0)
  const limited = new Counter({
    name: 'chatctl_limiter_decisions_total',
    help: 'Rate-limited requests: admitted, or rejected by the hourly or per-minute limit',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of ['admitted', 'hour', 'minute']) limited.inc({ outcome }, 0)
  return { inFlight, requests, seconds, refusals, limited }
}

function createModelServerMetrics(registers: Registry[]) {
  const modelServer = new Histogram({
    name: 'chatctl_model_server_request_duration_seconds',
    help: 'Requests to the model server, until the end of the response',
    labelNames: ['operation', 'outcome'],
    buckets: modelServerBuckets,
    registers,
  })
  const firstPiece = new Histogram({
    name: 'chatctl_model_server_first_piece_seconds',
    help: 'Seconds from the request for a stream to its first chunk',
    buckets: modelServerBuckets,
    registers,
  })
  const tokens = new Counter({
    name: 'chatctl_model_server_tokens_total',
    help: 'Tokens counted by the model server; for streams, if it reports them',
    labelNames: ['kind'],
    registers,
  })
  return { modelServer, firstPiece, tokens }
}
