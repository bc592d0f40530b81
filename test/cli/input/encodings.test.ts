import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { conversionHint } from '../../../src/contract/notation/text.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'

const text = 'email,password\nada@example.com,pässword\n'
const utf16 = Buffer.from(text, 'utf16le')

describe('a file in another encoding', () => {
  const sandbox = perSuite(createSandbox)

  const files: [encoding: string, bytes: Buffer][] = [
    ['UTF-16', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16])],
    ['UTF-16', Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(utf16).swap16()])],
    ['UTF-16LE', utf16],
    ['UTF-16BE', Buffer.from(utf16).swap16()],
    ['WINDOWS-1252', Buffer.from(text, 'latin1')],
  ]
  for (const [encoding, bytes] of files) {
    it(`is rejected with the conversion command: ${encoding}, starting with ${bytes.toString('hex', 0, 2)}`, async () => {
      writeFileSync(join(sandbox.home, 'users.csv'), bytes)
      writeFileSync(join(sandbox.home, 'api.yaml'), bytes)
      for (const [file, args] of [
        ['users.csv', ['users', 'import', 'users.csv', '-p', 'local']],
        ['api.yaml', ['settings', 'api', 'set', '--file', 'api.yaml', '-p', 'local']],
        ['api.yaml', ['settings', 'apply', 'api.yaml', '--yes', '-p', 'local']],
        ['api.yaml', ['chat', 'complete', '--messages', 'api.yaml']],
        ['users.csv', ['users', 'permissions', 'assign', '--file', 'users.csv', '-p', 'local']],
      ] as const) {
        const { exitCode, stderr } = await runChatctl(sandbox, args)
        expect(exitCode, stderr).to.equal(2)
        if (encoding.startsWith('UTF')) expect(stderr).to.contain(`${file} is ${encoding} text, not UTF-8`)
        const [command = ''] = /iconv -f .*/.exec(stderr) ?? []
        expect(command).to.equal(`iconv -f ${encoding} -t UTF-8 ${file}`)
        expect(execFileSync(command, { shell: true, cwd: sandbox.home, encoding: 'utf8' })).to.equal(text)
      }
    })
  }

  it('is rejected with the advice to save it as UTF-8 on Windows, which has no iconv', () => {
    for (const [, bytes] of files)
      expect(conversionHint(bytes, 'users.csv', 'win32')).to.match(/Save .* UTF-8/)
  })
})
