import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, symlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { maxSecretBytes, readNamedFile } from '../../../src/system/files/read-named-file.ts'
import { namedFilePlaces, servedNamedFiles } from '../../cli/input/named-file-places.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { binary, startBuilt } from '../../support/run-chatctl.ts'
import { runProgram } from '../../support/run-program.ts'
import { describeSample } from '../../support/take-sample.ts'

/** Reading a named pipe blocks the whole process. */
describeSample('a file that a flag or a variable names', 6, () => {
  const { sandbox, server, service, envOf } = servedNamedFiles()

  const makePipe = (): string => {
    const path = join(sandbox.home, 'pipe')
    execFileSync('mkfifo', ['-m', '600', path])
    return path
  }

  for (const [name, place] of Object.entries(namedFilePlaces)) {
    it(`can be a pipe without data, and Ctrl-C ends the wait: ${name}`, async () => {
      const path = makePipe()
      const child = startBuilt(sandbox, place.args(path), { env: envOf(place, path) })
      const closed = once(child, 'close')
      const writer = await openForWriting(path)
      child.kill('SIGINT')
      expect(await closed).to.deep.equal([null, 'SIGINT'])
      closeSync(writer)
      expect(server.requests).to.deep.equal([])
    })
  }

  it('can be a pipe without rows, and Ctrl-C ends the wait with code 130', async () => {
    const path = makePipe()
    const child = startBuilt(sandbox, ['users', 'import', path, '--yes'], { env: service() })
    const closed = once(child, 'close')
    const writer = await openForWriting(path)
    child.kill('SIGINT')
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
    expect(await closed).to.deep.equal([130, null])
    clearTimeout(timer)
    closeSync(writer)
  })

  it('can be a named pipe', async () => {
    const path = makePipe()
    const running = runProgram(sandbox, ['chat', 'models'], {
      env: { ...service(), CHATCTL_API_KEY: '', CHATCTL_API_KEY_FILE: path },
    })
    const writer = await openForWriting(path)
    writeSync(writer, 'key-1\n')
    closeSync(writer)
    expect(await running).to.include({ exitCode: 0 })
    expect(server.requests.map(({ headers }) => headers.authorization)).to.deep.equal(['Bearer key-1'])
  })

  it('is refused as a file in a message, without waiting for a writer', async () => {
    const path = makePipe()
    symlinkSync(path, join(sandbox.home, 'link'))
    const run = await runProgram(sandbox, ['chat', 'send', 'Hi', '-f', path, 'link'], { env: service() })
    const reason = 'it is a named pipe, not a regular file'
    expectFailure(
      run,
      2,
      `2 of 2 files cannot be sent: cannot read ${path}: ${reason}; cannot read link: ${reason}`,
    )
    expect(server.requests).to.deep.equal([])
  })

  it('is refused as an identity token, without waiting for a writer', async () => {
    const env = { ...service(), CHATCTL_API_KEY: '', CHATCTL_OIDC: `file:${makePipe()}` }
    const run = await runProgram(sandbox, ['chat', 'models'], { env })
    expectFailure(run, 4, 'Cannot read CHATCTL_OIDC: ', 'it is a named pipe, not a regular file')
    expect(server.requests).to.deep.equal([])
  })

  it('can be a process substitution as a file in a message', () => {
    const command = '"$0" "$1" chat send Hi --dry-run -f <(echo one) <(echo two)'
    const env = { ...sandbox.env, ...service() }
    const stdout = execFileSync('bash', ['-c', command, process.execPath, binary], { env }).toString()
    expect(stdout).to.match(/\/dev\/fd\/\d+.*one.*\/dev\/fd\/\d+.*two/)
  })

  it('can be a process substitution of the shell', () => {
    const command =
      'CHATCTL_API_KEY_FILE=<(echo key-2) "$0" "$1" api GET /v1/settings --data @<(echo "{}") --dry-run'
    const env = { ...sandbox.env, ...service(), CHATCTL_API_KEY: '' }
    const stdout = execFileSync('bash', ['-c', command, process.execPath, binary], { env })
    expect(stdout.toString()).to.contain('/v1/settings')
  })

  it('takes memory for its bytes only, however small the pieces of a pipe are', () => {
    const path = join(sandbox.home, 'pipe')
    execFileSync('mkfifo', ['-m', '600', path])
    // Each program writes one byte.
    const script = 'i=0; while [ $i -lt 300 ]; do env printf x; i=$((i+1)); done >"$0"'
    spawn('sh', ['-c', script, path], { stdio: 'ignore' })
    const before = process.memoryUsage().arrayBuffers
    expect(readNamedFile(path, { maxBytes: maxSecretBytes, kind: 'refused' })).to.have.length(300)
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(4 * 1024 * 1024)
  })
})

/** Opens a named pipe as soon as a reader has opened it. */
async function openForWriting(path: string): Promise<number> {
  for (let waited = 0; waited < 10_000; waited += 10) {
    try {
      return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error
      await sleep(10)
    }
  }
  throw new Error(`no program reads ${path}`)
}
