/** How long, in ms, a service may take to say how it is: it asks its database first. */
const patience = 3_000

/**
 * How a service on this machine says that it is: `ready`, or the `error.code` that it gives for not
 * being so; `unknown` when it says neither.
 * @param origin of the service or of its admin port
 */
export function askHealth(origin: string): Promise<string> {
  const url = new URL('/readyz', origin)
  // Nothing secret is sent, and the certificate may be for a name that is not this machine's.
  const request =
    url.protocol === 'https:'
      ? process.getBuiltinModule('node:https').get(url, { rejectUnauthorized: false, agent: false })
      : process.getBuiltinModule('node:http').get(url, { agent: false })
  return new Promise((resolve) => {
    const settle = (health: string) => {
      resolve(health)
      request.destroy()
    }
    request.setTimeout(patience, () => settle('unknown'))
    request.on('error', () => settle('unknown'))
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('error', () => settle('unknown'))
      response.on('data', (chunk: string) => {
        text += chunk
        if (text.length > 10_000) settle('unknown')
      })
      response.on('end', () => settle(read(response.statusCode, text)))
    })
  })
}

function read(status: number | undefined, text: string): string {
  if (status === 200) return 'ready'
  try {
    const { error } = JSON.parse(text)
    if (status === 503 && typeof error?.code === 'string') return error.code
  } catch {
    // Something else listens there.
  }
  return 'unknown'
}
