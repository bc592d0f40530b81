import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { hasDefaultCollection, hidesItems } from '../../src/credentials/default-collection.ts'

/** What a dbus-daemon sent after BEGIN: a signal, the reply to Hello, and the last message. */
const session = (last: Buffer): Buffer =>
  Buffer.concat([
    message(4, 1, [field(1, 'o', text('/org/freedesktop/DBus')), signature('s')], text(':1.7')),
    message(2, 2, [field(5, 'u', uint32(1)), signature('s')], text(':1.7')),
    last,
  ])
/** With the reply to ReadAlias. */
const recorded = (path: string): Buffer =>
  session(message(2, 3, [field(5, 'u', uint32(2)), field(7, 's', text(':1.0')), signature('o')], text(path)))
/** With an error. */
const refused = (name: string): Buffer =>
  session(message(3, 3, [field(5, 'u', uint32(2)), field(4, 's', text(name)), signature('s')], text(name)))

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
const text = (value: string): Buffer => Buffer.concat([uint32(value.length), Buffer.from(`${value}\0`)])
const field = (code: number, type: string, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([code, 1]), Buffer.from(`${type}\0`), value])
const signature = (type: string): Buffer => field(8, 'g', Buffer.from(`\x01${type}\0`, 'latin1'))

function message(kind: number, serial: number, fields: Buffer[], body: Buffer): Buffer {
  const padded = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)])
  const all = Buffer.concat([...fields.slice(0, -1).map(padded), ...fields.slice(-1)])
  const start = [Buffer.from([0x6c, kind, 1, 1]), uint32(body.length), uint32(serial), uint32(all.length)]
  return Buffer.concat([padded(Buffer.concat([...start, all])), body])
}

describe('a query about the default collection of a Secret Service', () => {
  before(function () {
    if (process.platform === 'win32') this.skip()
  })
  let directory: string
  let server: Server
  let script: (send: (bytes: Uint8Array) => void, begun: boolean, end: () => void) => void
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'chatctl-bus-'))
    server = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (data) =>
        script(
          (bytes) => socket.write(bytes),
          data.includes('BEGIN'),
          () => socket.end(),
        ),
      )
    })
    await new Promise<void>((resolve) => server.listen(join(directory, 'bus'), resolve))
  })
  afterEach(async () => {
    await new Promise((resolve) => server.close(resolve))
    rmSync(directory, { recursive: true, force: true })
  })

  const env = () => ({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${directory}/bus,guid=1` })
  const ask = () => hasDefaultCollection(env())

  const answerWith = (bytes: Buffer, cuts: readonly number[] = []): void => {
    script = (send, begun, end) => {
      if (!begun) return send(Buffer.from('OK 1234\r\n'))
      const places = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])]
      places.sort((a, b) => a - b)
      for (const [index, place] of places.entries()) send(bytes.subarray(place, places[index + 1]))
      end()
    }
  }

  it('returns true for a path, and false for the root path, which means none', async () => {
    answerWith(recorded('/org/freedesktop/secrets/collection/login'))
    expect(await ask()).to.equal(true)
    answerWith(recorded('/'))
    expect(await ask()).to.equal(false)
  })

  it('returns the same however the reply is split', () =>
    fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(fc.nat(), { maxLength: 8 }), async (isThere, cuts) => {
        answerWith(recorded(isThere ? '/a' : '/'), cuts)
        expect(await ask()).to.equal(isThere)
      }),
      { seed: 23, numRuns: 60 },
    ))

  it('neither rejects nor hangs if a byte of the reply is changed', () =>
    fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const bytes = recorded('/')
        bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ change
        answerWith(bytes)
        // A change in the path itself results in another path.
        expect(await ask()).to.be.oneOf([undefined, false, true])
      }),
      { seed: 23, numRuns: 100 },
    ))

  it('tells a locked collection that hides its items from other replies, however the reply is split', () =>
    fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(fc.nat(), { maxLength: 8 }), async (isLocked, cuts) => {
        answerWith(refused(`org.freedesktop.Secret.Error.${isLocked ? 'IsLocked' : 'NoSuchObject'}`), cuts)
        expect(await hidesItems(env())).to.equal(isLocked)
        answerWith(recorded('/a'), cuts)
        expect(await hidesItems(env())).to.equal(false)
      }),
      { seed: 23, numRuns: 60 },
    ))

  it('is undefined if the bus refuses us, disconnects, or sends endlessly', async () => {
    script = (send) => send(Buffer.from('REJECTED EXTERNAL\r\n'))
    expect(await ask()).to.equal(undefined)
    script = (_send, _begun, end) => end()
    expect(await ask()).to.equal(undefined)
    script = (send) => send(Buffer.alloc(100_000, 'x'))
    expect(await ask()).to.equal(undefined)
  })

  it('is undefined without a bus on a Unix socket', async () => {
    for (const env of [
      {},
      { DBUS_SESSION_BUS_ADDRESS: 'tcp:host=127.0.0.1,port=9' },
      { DBUS_SESSION_BUS_ADDRESS: 'unix:path=%zz' },
      { DBUS_SESSION_BUS_ADDRESS: `unix:path=${directory}/nowhere` },
      { XDG_RUNTIME_DIR: `${directory}/nowhere` },
    ]) {
      expect(await hasDefaultCollection(env)).to.equal(undefined)
    }
  })
})
