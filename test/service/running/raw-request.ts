import { connect } from 'node:net'

/** Sends bytes as they are, and reads until the service closes or is silent for this many milliseconds. */
export function sendBytes(
  url: string,
  bytes: string | Uint8Array,
  { silence = 300, most = 10_000 } = {},
): Promise<{ text: string; closed: boolean }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  return new Promise((resolve, reject) => {
    const settle = (closed: boolean) => {
      clearTimeout(limit)
      socket.destroy()
      resolve({ text, closed })
    }
    const limit = setTimeout(() => reject(new Error(`no end within ${most} ms: ${text}`)), most)
    socket.setTimeout(silence, () => settle(false))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', () => settle(true))
    socket.on('close', () => settle(true))
    socket.write(bytes)
  })
}

/** One HTTP/1.1 response, as far as tests examine it. */
export interface RawResponse {
  status: number
  head: string
  body: string
}

/** The responses in a text, in their order, by Content-Length. Throws if the text is anything else. */
export function readResponses(text: string): RawResponse[] {
  const answers: RawResponse[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const head = rest.slice(0, end)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
    if (end === -1 || Number.isNaN(status)) throw new Error(`no response: ${rest.slice(0, 200)}`)
    if (status === 100) {
      rest = rest.slice(end + 4)
      continue
    }
    const chunked = /^transfer-encoding: chunked$/im.test(head)
    const length = chunked
      ? rest.indexOf('0\r\n\r\n', end + 4) + 5 - end - 4
      : Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
    answers.push({ status, head, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}
