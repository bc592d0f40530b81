import { type ExecFileException, execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { build } from 'esbuild'
import { publint } from 'publint'
import { makeEmptyDirectory, packProject, type Tarball } from '../../release/installation.ts'
import { root } from '../../scripts/package-file.ts'
import { withService } from '../../service/temporary-service.ts'
import { describeSample } from '../../support/take-sample.ts'

/** The code of docs/guides/library.md, with the URL of a service. */
function readExample(url: string): string {
  const [, example = ''] =
    /^```js\n([\s\S]*?)^```/m.exec(readFileSync(join(root, 'docs/guides/library.md'), 'utf8')) ?? []
  return example.replace('http://127.0.0.1:8787', url)
}

interface Run {
  exitCode: number
  stdout: string
  stderr: string
}

function runNode(directory: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { cwd: directory, env: { ...process.env, ...env } },
      (error: ExecFileException | null, stdout, stderr) =>
        resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

/** What the example uses of Node, so that the package is type-checked without the types of Node. */
const declaredProcess = `declare const process: {
  env: Record<string, string | undefined>
  exitCode?: number
  stdout: { write(text: string): void }
}
`

const typedScript = `
import { Client, type User, idOfCreated } from 'chatctl/client'

const client = new Client({ baseUrl: 'https://chat.example', timeout: 5000 })
const response = await client.users.get('usr_1')
const user: User | undefined = response.body
const email: string | null | undefined = user?.email
const id: string | undefined = idOfCreated(await client.users.create({ email: email ?? '' }))
for await (const { messages } of client.history.pages({ limit: 10 })) messages[0]?.content?.trim()
// @ts-expect-error a field that the interface does not have
await client.users.create({ nickname: id })
// @ts-expect-error a number
await client.chat.send({ message: 1 })
`

const bundling = { bundle: true, platform: 'node', logLevel: 'silent' } as const

describeSample('chatctl/client', 5, () => {
  let directory: string
  let tarball: Tarball
  const installed = (...path: string[]): string => join(directory, 'node_modules/chatctl', ...path)

  before(async () => {
    directory = makeEmptyDirectory()
    tarball = await packProject(directory)
    // The files that an installation unpacks, without dependencies: the library has none.
    for (const file of tarball.files) {
      mkdirSync(dirname(installed(file)), { recursive: true })
      cpSync(join(root, file), installed(file))
    }
  })
  after(() => rmSync(directory, { recursive: true, force: true }))

  it('runs the example of docs/guides/library.md against the embedded service', () =>
    withService(async ({ url, key }) => {
      writeFileSync(join(directory, 'hello.mjs'), readExample(url))
      const run = await runNode(directory, ['hello.mjs'], { CHAT_API_KEY: key })
      expect(run.stderr).to.equal('')
      expect(run.exitCode).to.equal(0)
      expect(run.stdout.match(/not an AI/g)).to.have.length(2)
    }))

  it('reports the kind of the failure in that example if the key is invalid', () =>
    withService(async ({ url }) => {
      writeFileSync(join(directory, 'hello.mjs'), readExample(url))
      const run = await runNode(directory, ['hello.mjs'], { CHAT_API_KEY: 'ck_invalid' })
      expect(run).to.include({ exitCode: 1, stdout: '' })
      expect(run.stderr).to.match(/^unauthorized: /)
    }))

  for (const format of ['esm', 'cjs'] as const) {
    it(`runs the same example bundled by esbuild (${format})`, () =>
      withService(async ({ url, key }) => {
        // A module of CommonJS cannot wait at its top level.
        const lines = readExample(url).split('\n')
        const imports = lines.filter((line) => line.startsWith('import '))
        const rest = lines.filter((line) => !line.startsWith('import ')).join('\n')
        writeFileSync(join(directory, 'main.mjs'), `${imports.join('\n')}\nvoid (async () => {${rest}})()`)
        const outfile = join(directory, format === 'esm' ? 'bundle.mjs' : 'bundle.cjs')
        const { warnings } = await build({
          ...bundling,
          entryPoints: [join(directory, 'main.mjs')],
          outfile,
          format,
        })
        expect(warnings).to.deep.equal([])
        const run = await runNode(directory, [outfile], { CHAT_API_KEY: key })
        expect(run.stderr).to.equal('')
        expect(run.stdout.match(/not an AI/g)).to.have.length(2)
      }))
  }

  it('adds less than 2 kB to a bundle that imports only Failure', async () => {
    writeFileSync(
      join(directory, 'small.mjs'),
      `import { Failure } from 'chatctl/client'\nconsole.log(Failure.name)`,
    )
    const outfile = join(directory, 'small-bundle.mjs')
    await build({
      ...bundling,
      entryPoints: [join(directory, 'small.mjs')],
      outfile,
      format: 'esm',
      minify: true,
    })
    expect(readFileSync(outfile).length).to.be.below(2_000)
    expect((await runNode(directory, [outfile])).exitCode).to.equal(0)
  })

  it('can be loaded with require', async () => {
    writeFileSync(join(directory, 'hello.cjs'), `console.log(typeof require('chatctl/client').Client)`)
    expect((await runNode(directory, ['hello.cjs'])).stdout).to.equal('function\n')
  })

  for (const resolution of ['node16', 'bundler']) {
    it(`has types that TypeScript resolves and checks without another package (${resolution})`, async () => {
      writeFileSync(join(directory, 'hello.mts'), declaredProcess + readExample('http://127.0.0.1:8787'))
      writeFileSync(join(directory, 'typed.mts'), typedScript)
      const compilerOptions = {
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        noEmit: true,
        target: 'es2022',
        lib: ['es2022', 'dom'],
        types: [],
        module: resolution === 'bundler' ? 'preserve' : resolution,
        moduleResolution: resolution,
      }
      const files = ['hello.mts', 'typed.mts']
      writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
      const compiler = join(root, 'node_modules/typescript/bin/tsc')
      const run = await runNode(directory, [compiler, '--project', '.'])
      expect(run.stdout).to.equal('')
      expect(run.exitCode).to.equal(0)
    })
  }

  it('passes publint', async () => {
    const { messages } = await publint({ pkgDir: installed(), pack: false, strict: true })
    expect(messages).to.deep.equal([])
  })

  it('passes arethetypeswrong as an ES module', async () => {
    const attw = join(root, 'test/node_modules/@arethetypeswrong/cli/dist/index.js')
    const run = await runNode(directory, [attw, tarball.path, '--profile', 'esm-only', '--no-color'])
    expect(run.exitCode, run.stdout).to.equal(0)
  })

  it('documents every name that it exports', () => {
    const entry = readFileSync(installed('dist/client.d.ts'), 'utf8')
    const exported = [...entry.matchAll(/^export (?:type )?\{ (.*) \} from '\.\/(.*)\.js'/gm)].flatMap(
      ([, names = '', file]) => names.split(', ').map((name) => ({ name: name.replace(/ as .*/, ''), file })),
    )
    expect(exported.length).to.be.above(40)
    const silent = exported.filter(({ name, file }) => {
      const text = readFileSync(installed('dist', `${file}.d.ts`), 'utf8')
      return !new RegExp(`\\*/\\nexport (declare )?(class|function|interface|type) ${name}\\b`).test(text)
    })
    expect(silent).to.deep.equal([])
  })

  it('documents every option in docs/guides/library.md', () => {
    const text = readFileSync(installed('dist/types/client/client-options.d.ts'), 'utf8')
    const [, options = ''] = /export interface ClientOptions \{([\s\S]*?)^\}/m.exec(text) ?? []
    const names = [...options.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name]) => name)
    expect(names).to.include.members(['baseUrl', 'credential'])
    const page = readFileSync(join(root, 'docs/guides/library.md'), 'utf8')
    const documented = [...page.matchAll(/^\| `(\w+)` \|[^|]*\|[^|]+\|$/gm)].map(([, name]) => name)
    const place = 'Add the option to docs/guides/library.md'
    expect(documented, place).to.include.members(names)
  })
})
