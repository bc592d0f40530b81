import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { build } from 'esbuild'

describe('the embedded service in a bundle', () => {
  it('finds its dependencies: some load otherwise there than from source', async function () {
    this.timeout(20_000)
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const folder = mkdtempSync(join(tmpdir(), 'chatctl-bundle-'))
    try {
      await build({
        absWorkingDir: root,
        entryPoints: ['test/service/log-requests.ts'],
        outdir: folder,
        bundle: true,
        splitting: true,
        format: 'esm',
        platform: 'node',
        external: ['@node-rs/argon2'],
        outExtension: { '.js': '.mjs' },
        banner: {
          js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
        },
        logLevel: 'error',
      })
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
      const script = join(folder, 'log-requests.mjs')
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [script, join(folder, 'data')])
      expect(JSON.parse(stdout).key).to.match(/^ck_/)
      expect(stderr).to.include('"status":201').and.include('"status":502')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
