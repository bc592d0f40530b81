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

  // Each command reads one encoding, because all commands decode with the same code.
  const files: [encoding: string, bytes: Buffer, args: string[]][] = [
    [
      'UTF-16',
      Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]),
      ['users', 'import', 'users.csv', '-p', 'local'],
    ],
    [
      'UTF-16',
      Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(utf16).swap16()]),
      ['settings', 'api', 'set', '--file', 'api.yaml', '-p', 'local'],
    ],
    ['UTF-16LE', utf16, ['settings', 'apply', 'api.yaml', '--yes', '-p', 'local']],
    ['UTF-16BE', Buffer.from(utf16).swap16(), ['chat', 'complete', '--messages', 'api.yaml']],
    [
      'WINDOWS-1252',
      Buffer.from(text, 'latin1'),
      ['users', 'permissions', 'assign', '--file', 'users.csv', '-p', 'local'],
    ],
  ]
  for (const [encoding, bytes, args] of files)
    it(`is rejected with the conversion command: ${encoding}, starting with ${bytes.toString('hex', 0, 2)}`, async () => {
      const file = args.find((word) => /\.(csv|yaml)$/.test(word)) ?? ''
      writeFileSync(join(sandbox.home, file), bytes)
      const { exitCode, stderr } = await runChatctl(sandbox, args)
      expect(exitCode, stderr).to.equal(2)
      if (encoding.startsWith('UTF')) expect(stderr).to.contain(`${file} is ${encoding} text, not UTF-8`)
      const [command = ''] = /iconv -f .*/.exec(stderr) ?? []
      expect(command).to.equal(`iconv -f ${encoding} -t UTF-8 ${file}`)
      expect(execFileSync(command, { shell: true, cwd: sandbox.home, encoding: 'utf8' })).to.equal(text)
    })

  it('is rejected with the advice to save it as UTF-8 on Windows, which has no iconv', () => {
    for (const [, bytes] of files)
      expect(conversionHint(bytes, 'users.csv', 'win32')).to.match(/Save .* UTF-8/)
  })
})
