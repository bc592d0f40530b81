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
  const alias = (await askSecretService(env, readAliasCall))?.path
  // Secret Service specification, "ReadAlias": `/` means no collection.
  return alias === undefined ? undefined : alias !== '/'
}

/**
 * Whether the default collection is locked and does not say which items it has. A search in it finds
 * nothing, whether or not it has the item. gnome-keyring finds items of a locked collection;
 * KeePassXC does not, and refuses other questions about it, too. Never opens a dialog.
 */
export async function hidesItems(env: NodeJS.ProcessEnv): Promise<boolean> {
  return (await askSecretService(env, createdCall))?.error === 'org.freedesktop.Secret.Error.IsLocked'
}

async function askSecretService(env: NodeJS.ProcessEnv, call: Buffer): Promise<Message | undefined> {
  // Ignores errors, because the use of the keychain will report them.
  return askBus(env, call).catch(() => undefined)
}

async function askBus(env: NodeJS.ProcessEnv, call: Buffer): Promise<Message | undefined> {
  const path = busPath(env)
  if (path === undefined) return undefined
  const socket = connect(path)
  const timer = setTimeout(() => socket.destroy(), timeout)
  try {
    return await readReply(socket, call)
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

const toMultipleOf = (size: number, bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((size - (bytes.length % size)) % size)])

/** A method call whose arguments are strings (D-Bus specification, "Message Protocol"). */
function methodCall(
  serial: number,
  [destination, path, name]: readonly [string, string, string],
  ...values: string[]
): Buffer {
  const [member = '', ...rest] = name.split('.').reverse()
  const variants: [code: number, type: string, value: Buffer][] = [
    [1, 'o', string(path)],
    [2, 's', string(rest.reverse().join('.'))],
    [3, 's', string(member)],
    [6, 's', string(destination)],
  ]
  if (values.length > 0) {
    const types = `${String.fromCharCode(values.length)}${'s'.repeat(values.length)}\0`
    variants.push([8, 'g', Buffer.from(types, 'latin1')])
  }
  const fields = variants.map(([code, type, value]) =>
    Buffer.concat([Buffer.from([code, 1]), Buffer.from(`${type}\0`), value]),
  )
  // Each field begins at a multiple of 8. Padding after the last one is not part of the length.
  const before = Buffer.concat(fields.slice(0, -1).map((field) => toMultipleOf(8, field)))
  const header = Buffer.concat([before, fields.at(-1) ?? Buffer.alloc(0)])
  // Each string begins at a multiple of 4.
  const body = Buffer.concat([
    ...values.slice(0, -1).map((value) => toMultipleOf(4, string(value))),
    ...values.slice(-1).map(string),
  ])
  // Little-endian, a method call, no flags, version 1.
  const start = [
    Buffer.from('l\x01\0\x01', 'latin1'),
    uint32(body.length),
    uint32(serial),
    uint32(header.length),
  ]
  return Buffer.concat([toMultipleOf(8, Buffer.concat([...start, header])), body])
}

/** The required first call of every connection. */
const hello = methodCall(1, ['org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus.Hello'])

const secrets = 'org.freedesktop.secrets'
const root = '/org/freedesktop/secrets'

const readAliasCall = methodCall(2, [secrets, root, 'org.freedesktop.Secret.Service.ReadAlias'], 'default')

/** Asks when the default collection was created. Only whether it answers matters. */
const createdCall = methodCall(
  2,
  [secrets, `${root}/aliases/default`, 'org.freedesktop.DBus.Properties.Get'],
  'org.freedesktop.Secret.Collection',
  'Created',
)

async function readReply(socket: Socket, call: Buffer): Promise<Message | undefined> {
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
      socket.write(Buffer.concat([Buffer.from('BEGIN\r\n'), hello, call]))
    }
    for (let message = takeMessage(received); message; message = takeMessage(received)) {
      if (message.replyTo === 2) return message
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
  /** The name of the error; undefined for another reply. */
  error: string | undefined
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
  const found: Message = { length, replyTo: undefined, path: undefined, error: undefined }
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
    } else if (type === 's' || type === 'o') {
      const size = read(at)
      if (code === 4) found.error = bytes.toString('utf8', at + 4, at + 4 + size)
      at += size + 5
    } else return fail()
  }
  const isReturn = bytes[1] === 2
  if (isReturn && isPath) found.path = bytes.toString('utf8', body + 4, body + 4 + read(body))
  return found
}

function fail(): never {
  throw new Error('not a message of D-Bus')
}
