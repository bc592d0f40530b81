import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { maxSecretBytes, readNamedFile } from '../../../src/system/files/read-named-file.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'
import {
  type NamedFilePlace as Place,
  namedFilePlaces as places,
  servedNamedFiles,
} from './named-file-places.ts'

describe('a file named by a flag or a variable', function () {
  this.timeout(60_000)
  const { sandbox, server, service, envOf } = servedNamedFiles()

  // test/bulk/input/open-input.test.ts reads more than 64 MiB.
  for (const [name, place] of Object.entries(places).filter(([one]) => one !== '--messages'))
    it(`is rejected if it is endless: ${name}`, async () => {
      const run = await runChatctl(sandbox, place.args('/dev/zero'), { env: envOf(place, '/dev/zero') })
      expectFailure(run, place.exitCode, `/dev/zero is larger than ${place.max}`)
      expect(server.requests).to.deep.equal([])
    })

  it('is rejected with a chmod command if it holds a secret and other users can write to it', async () => {
    const path = join(sandbox.home, 'secret')
    writeFileSync(path, 'key-3\n')
    for (const place of ['CHATCTL_API_KEY_FILE', '--password-file', '--model-server-key-file'] as const) {
      const { args, exitCode } = places[place] as Place
      for (const mode of [0o666, 0o602, 0o620]) {
        chmodSync(path, mode)
        const run = await runChatctl(sandbox, args(path), { env: envOf(places[place] as Place, path) })
        const words = `other users can write to it (mode 0${mode.toString(8)})`
        expectFailure(run, exitCode, words, `chmod go-w ${path}`)
        expect(run.stderr).not.to.contain('key-3')
      }
    }
    expect(server.requests).to.deep.equal([])
  })

  it('is rejected if it holds a secret and other users can replace it', async () => {
    const directory = join(sandbox.home, 'shared')
    mkdirSync(directory)
    const path = join(directory, 'secret')
    writeFileSync(path, 'key-5\n')
    chmodSync(directory, 0o777)
    for (const place of ['CHATCTL_API_KEY_FILE', '--password-file', '--model-server-key-file'] as const) {
      const { args, exitCode } = places[place] as Place
      const env = envOf(places[place] as Place, path)
      const reject = async (...words: string[]) =>
        expectFailure(await runChatctl(sandbox, args(path), { env }), exitCode, ...words)
      await reject(`other users can write to ${directory} (mode 0777)`, `chmod go-w ${directory}`)
      if (process.getuid?.() !== 0) continue
      chmodSync(directory, 0o755)
      chownSync(path, 1234, 1234)
      await reject('it belongs to another user', `sudo chown 0 ${path}`)
      chownSync(path, 0, 0)
      chmodSync(directory, 0o777)
    }
    expect(server.requests).to.deep.equal([])
  })

  it('is accepted if others can only read it, as with mounted secrets', () => {
    const path = join(sandbox.home, 'secret')
    writeFileSync(path, 'key-4')
    for (const mode of [0o644, 0o444, 0o440, 0o600, 0o400]) {
      chmodSync(path, mode)
      const read = () => readNamedFile(path, { maxBytes: maxSecretBytes, isSecret: true, kind: 'refused' })
      expect(read().toString()).to.equal('key-4')
    }
  })

  it('is read up to its maximum size, and not a byte more', () => {
    const path = join(sandbox.home, 'large')
    writeFileSync(path, 'x'.repeat(100_000))
    expect(readNamedFile(path, { maxBytes: 100_000, kind: 'refused' })).to.have.length(100_000)
    const failure = thrownFailure(() => readNamedFile(path, { maxBytes: 65_536, kind: 'config' }))
    expect(failure).to.include({ kind: 'config', message: `${path} is larger than 64 KiB` })
  })

  it('is named in an error exactly as it was given', () => {
    const failure = thrownFailure(() => readNamedFile('No file here', { maxBytes: 1, kind: 'refused' }))
    expect(failure.message).to.match(/^Cannot read No file here: /)
  })

  for (const [name, args, max] of [
    ['an API key', ['auth', 'login', '-p', 'w', '--with-api-key', '--insecure-storage'], '64 KiB'],
    ['settings', ['settings', 'apply', '-', '--yes'], '4 MiB'],
    ['a message', ['chat', 'send'], '64 MiB'],
  ] as const)
    it(`is rejected if it is an endless stdin for ${name}`, async () => {
      const { stdin, ended } = startChatctl(sandbox, args, { env: service() })
      const zeros = Buffer.alloc(1024 * 1024, 'x')
      const pour = (): void => {
        while (!stdin.destroyed && stdin.write(zeros));
      }
      stdin.on('error', () => {}).on('drain', pour)
      pour()
      expectFailure(await ended, 2, `larger than ${max}`)
      expect(server.requests).to.deep.equal([])
    })
})
