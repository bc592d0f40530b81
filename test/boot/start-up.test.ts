import { once } from 'node:events'
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { commandsThatNeedAll } from '../../src/boot/run.ts'
import { perTest } from '../support/lifetime.ts'
import { collectOutput, startBuilt } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'

const onDemand = 'Import the module that needs it on demand; its bundle is declared in scripts/bundles.ts'

/** docs/decisions/0003-bundling.md */
describe('starting a command', () => {
  const sandbox = perTest(createSandbox)

  /** The modules of Node.js that a run of the built program loads. */
  const modulesOf = async (args: readonly string[]): Promise<string[]> => {
    const report = join(sandbox.home, 'report.cjs')
    writeFileSync(
      report,
      `process.on('exit', () => process.stderr.write('loaded ' + process.moduleLoadList.join() + '\\n'))`,
    )
    const child = startBuilt(sandbox, args, { env: { NODE_OPTIONS: `--require ${report}` } })
    const output = collectOutput(child)
    child.stdin?.end()
    await once(child, 'close')
    expect(child.exitCode, output.stderr).to.equal(0)
    const [, loaded] = /^loaded (.*)$/m.exec(output.stderr) ?? []
    expect(loaded, output.stderr).to.be.a('string')
    return String(loaded).split(',')
  }

  const packagesIn = (bundle: string): string[] => {
    const packages: { name: string; bytes: Record<string, number> }[] = JSON.parse(
      readFileSync(resolve(import.meta.dirname, '../../dist/.packages.json'), 'utf8'),
    )
    return packages.filter(({ bytes }) => bytes[bundle]).map(({ name }) => name)
  }

  for (const bundle of ['main', 'chat']) {
    it(`loads no packages of the service, and none for HTTP, YAML, Markdown, or highlighting (${bundle})`, () => {
      const packages = packagesIn(bundle)
      expect(packages).to.include('zod')
      for (const name of ['kysely', 'fastify', 'pino', 'undici', 'yaml', 'marked', 'highlight.js', 'ajv'])
        expect(packages, onDemand).not.to.include(name)
    })
  }

  it('loads less code for a command of chat', () => {
    const sizeOf = (name: string) => statSync(resolve(import.meta.dirname, `../../dist/${name}.cjs`)).size
    expect(sizeOf('chat')).to.be.below(sizeOf('main') * 0.75)
  })

  it('loads no HTTP server with the service for the profile local, and no second copy of the schemas', () => {
    const inService = packagesIn('service')
    expect(inService).to.include('kysely')
    for (const name of ['fastify', 'pino', 'undici', 'zod']) expect(inService, onDemand).not.to.include(name)
  })

  it('loads node:crypto, which takes 5 ms, only for commands that need it', async () => {
    const crypto = 'NativeModule crypto'
    expect(await modulesOf(['chat', 'send', 'Hello', '--profile', 'local'])).not.to.include(crypto)
    expect(await modulesOf(['service', 'keys', 'create', '--name', 'test'])).to.include(crypto)
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
