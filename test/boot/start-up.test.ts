import { globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { commandsThatNeedAll } from '../../src/boot/run.ts'
import { expectSuccess } from '../support/expect-failure.ts'
import { perTest } from '../support/lifetime.ts'
import { runProgram } from '../support/run-program.ts'
import { createSandbox } from '../support/sandbox.ts'

const onDemand = 'Import the module that needs it on demand; its bundle is declared in scripts/bundles.ts'

/** docs/decisions/0003-bundling.md */
describe('starting a command', () => {
  const sandbox = perTest(createSandbox)

  const packagesIn = (bundle: string): string[] => {
    const packages: { name: string; bytes: Record<string, number> }[] = JSON.parse(
      readFileSync(resolve(import.meta.dirname, '../../dist/.packages.json'), 'utf8'),
    )
    return packages.filter(({ bytes }) => bytes[bundle]).map(({ name }) => name)
  }

  for (const bundle of ['main', 'chat'])
    it(`loads no packages of the service, and none for HTTP, YAML, Markdown, or highlighting (${bundle})`, () => {
      const packages = packagesIn(bundle)
      expect(packages).to.include('zod')
      for (const name of ['kysely', 'fastify', 'pino', 'undici', 'yaml', 'marked', 'highlight.js', 'ajv'])
        expect(packages, onDemand).not.to.include(name)
    })

  it('loads less code for a command of chat', () => {
    const sizeOf = (name: string) => statSync(resolve(import.meta.dirname, `../../dist/${name}.cjs`)).size
    expect(sizeOf('chat')).to.be.below(sizeOf('main') * 0.75)
  })

  it('loads no HTTP server with the service for the profile local, and no second copy of the schemas', () => {
    const inService = packagesIn('service')
    expect(inService).to.include('kysely')
    for (const name of ['fastify', 'pino', 'undici', 'zod']) expect(inService, onDemand).not.to.include(name)
  })

  it('loads neither HTTP nor node:crypto, which takes 5 ms, for chat send with the profile local', async () => {
    const report = join(sandbox.home, 'report.cjs')
    const code = `process.on('exit', () => process.stderr.write('loaded ' + process.moduleLoadList.join() + '\\n'))`
    writeFileSync(report, code)
    // Under other flags, V8 rejects the code cache of the package.
    const options = `--require ${report} --stack-trace-limit=50`
    const env = { XDG_CACHE_HOME: join(sandbox.home, 'cache'), NODE_OPTIONS: options }
    const words = ['chat', 'send', 'Hello', '--profile', 'local']
    const { stdout, stderr } = expectSuccess(await runProgram(sandbox, words, { env }))
    expect(stdout).to.include('Your message had 1 word')
    const modules = /^loaded (.*)$/m.exec(stderr)?.[1]?.split(',')
    // This process has loaded it under the same name.
    const crypto = 'NativeModule crypto'
    expect(process).to.have.property('moduleLoadList').that.includes(crypto)
    expect(modules).to.include('NativeModule fs').and.not.include(crypto)
    // The first run leaves a marker of each file of dist that it has loaded.
    const markers = readdirSync(join(env.XDG_CACHE_HOME, 'chatctl', 'cache'))
    const bundles = markers.map((name) => name.replace(/-[0-9a-f]{16}-.*/, ''))
    expect(bundles).to.include.members(['chat', 'service', 'exchange'])
    for (const name of ['http', 'http-server', 'conf']) expect(bundles, onDemand).not.to.include(name)
  })

  it('loads all commands for those that use the list of commands', () => {
    const source = resolve(import.meta.dirname, '../../src')
    const looking = globSync('**/*.ts', { cwd: join(source, 'commands') }).filter((file) =>
      /config\.(commands|topics)\b|\{[^}]*\b(commands|topics)\b[^}]*\} = this\.config/.test(
        readFileSync(join(source, 'commands', file), 'utf8'),
      ),
    )
    const ids = looking.map((file) => file.replace(/\.ts$/, '').replaceAll(/[\\/]/g, ':'))
    expect(ids).to.have.length.above(0)
    const place = 'Change `commandsThatNeedAll` in src/boot/run.ts'
    expect([...commandsThatNeedAll].sort(), place).to.deep.equal(ids.sort())
  })
})
