import { connect, type Socket } from 'node:net'

/** Timeout in ms. The Secret Service has just responded to another call. */
const timeout = 5_000

/** In bytes. A reply contains one path. */
const maximumReply = 65_536

/**
 * Whether the Secret Service has a default collection, in which it stores new items. On a machine without a
 * desktop session, the daemon may have none (docs/decisions/0006-keychain-calls.md). Never opens a dialog.
 *
 * @returns undefined if the session bus does not tell
 */
export async function hasDefaultCollection(env: NodeJS.ProcessEnv): Promise<boolean | undefined> {
  // Ignores errors, because storing the credential will report them.
  const alias = await askBus(env).catch(() => undefined)
  // Secret Service specification, "ReadAlias": `/` means no collection.
  return alias === undefined ? undefined : alias !== '/'
}

async function askBus(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const path = busPath(env)
  if (path === undefined) return undefined
  const socket = connect(path)
  const timer = setTimeout(() => socket.destroy(), timeout)
  try {
    return await readAlias(socket)
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

/** The first Unix socket in the list of addresses (D-Bus specification, "Server Addresses"). */
function busPath({ DBUS_SESSION_BUS_ADDRESS: addresses, XDG_RUNTIME_DIR: directory }: NodeJS.ProcessEnv) {
  if (!addresses) return directory ? `${directory}/bus` : undefined
  for (const address of addresses.split(';')) {
    const [, kind, value = ''] = /^unix:(?:[^,]*,)*?(path|abstract)=([^,]*)/.exec(address) ?? []
    if (kind !== undefined) return `${kind === 'abstract' ? '\0' : ''}${decodeURIComponent(value)}`
  }
  return undefined
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

const string = (text: string): Buffer =>
  Buffer.concat([uint32(Buffer.byteLength(text)), Buffer.from(`${text}\0`)])

const toMultipleOf8 = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)])

/** A method call with at most one string as argument (D-Bus specification, "Message Protocol"). */
function methodCall(
  serial: number,
  [destination, path, name]: readonly [string, string, string],
  argument?: string,
) {
  const [member = '', ...rest] = name.split('.').reverse()
  const variants: [code: number, type: string, value: Buffer][] = [
    [1, 'o', string(path)],
    [2, 's', string(rest.reverse().join('.'))],
    [3, 's', string(member)],
    [6, 's', string(destination)],
  ]
  if (argument !== undefined) variants.push([8, 'g', Buffer.from('\x01s\0', 'latin1')])
  const fields = variants.map(([code, type, value]) =>
    Buffer.concat([Buffer.from([code, 1]), Buffer.from(`${type}\0`), value]),
  )
  // Each field begins at a multiple of 8. Padding after the last one is not part of the length.
  const before = Buffer.concat(fields.slice(0, -1).map(toMultipleOf8))
  const header = Buffer.concat([before, fields.at(-1) ?? Buffer.alloc(0)])
  const body = argument === undefined ? Buffer.alloc(0) : string(argument)
  // Little-endian, a method call, no flags, version 1.
  const start = [
    Buffer.from('l\x01\0\x01', 'latin1'),
    uint32(body.length),
    uint32(serial),
    uint32(header.length),
  ]
  return Buffer.concat([toMultipleOf8(Buffer.concat([...start, header])), body])
}

/** The required first call of every connection. */
const hello = methodCall(1, ['org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus.Hello'])

const readAliasCall = methodCall(
  2,
  ['org.freedesktop.secrets', '/org/freedesktop/secrets', 'org.freedesktop.Secret.Service.ReadAlias'],
  'default',
)

async function readAlias(socket: Socket): Promise<string | undefined> {
  const id = Buffer.from(String(process.getuid?.())).toString('hex')
  socket.write(`\0AUTH EXTERNAL ${id}\r\n`)
  let received: Buffer<ArrayBufferLike> = Buffer.alloc(0)
  let isAuthenticated = false
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk])
    if (received.length > maximumReply) return undefined
    if (!isAuthenticated) {
      const end = received.indexOf('\r\n')
      if (end < 0) continue
      if (!received.toString('latin1', 0, end).startsWith('OK ')) return undefined
      isAuthenticated = true
      received = received.subarray(end + 2)
      socket.write(Buffer.concat([Buffer.from('BEGIN\r\n'), hello, readAliasCall]))
    }
    for (let message = takeMessage(received); message; message = takeMessage(received)) {
      if (message.replyTo === 2) return message.path
      received = received.subarray(message.length)
    }
  }
  return undefined
}

interface Message {
  length: number
  /** Serial number of the call. */
  replyTo: number | undefined
  /** The returned object path; undefined for an error or another type. */
  path: string | undefined
}

/**
 * @returns undefined if the message is incomplete
 * @throws Error if the bytes are not a message
 */
function takeMessage(bytes: Buffer): Message | undefined {
  if (bytes.length < 16) return undefined
  const isLittle = bytes[0] === 0x6c
  const read = (at: number): number => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at))
  const end = 16 + read(12)
  const body = Math.ceil(end / 8) * 8
  const length = body + read(4)
  if (bytes.length < length) return length > maximumReply ? fail() : undefined
  const found: Message = { length, replyTo: undefined, path: undefined }
  let isPath = false
  for (let at = 16; at < end; ) {
    at = Math.ceil(at / 8) * 8
    const code = bytes[at]
    const type = String.fromCharCode(bytes[at + 2] ?? 0)
    // The signature of every header field has one letter.
    if (bytes[at + 1] !== 1) return fail()
    at += 4
    if (type === 'g') {
      const size = bytes[at] ?? 0
      isPath ||= code === 8 && bytes.toString('latin1', at + 1, at + 1 + size) === 'o'
      at += size + 2
    } else if (type === 'u') {
      if (code === 5) found.replyTo = read(at)
      at += 4
    } else if (type === 's' || type === 'o') at += read(at) + 5
    else return fail()
  }
  const isReturn = bytes[1] === 2
  if (isReturn && isPath) found.path = bytes.toString('utf8', body + 4, body + 4 + read(body))
  return found
}

function fail(): never {
  throw new Error('not a message of D-Bus')
}
