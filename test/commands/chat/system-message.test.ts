import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { servedMessages } from '../../support/served-messages.ts'

describe('the system message of chat complete', () => {
  const { sandbox, server, env } = servedMessages()

  const complete = (given: string, stdin: string | Uint8Array = '') => {
    const args = ['chat', 'complete', 'Hello', '--system', given]
    return runChatctl(sandbox, args, { env: env(), stdin })
  }
  const contents = () =>
    server.requests.flatMap(({ body }) =>
      JSON.parse(body).messages.map(({ content }: { content: string }) => content),
    )

  before(() => {
    writeFileSync(join(sandbox.home, 'brief.txt'), 'Be brief.\r\n\n')
    writeFileSync(join(sandbox.home, 'blank.txt'), ' \n')
    writeFileSync(join(sandbox.home, 'image'), 'GIF\0')
  })

  for (const [given, stdin, system] of [
    ['Be brief', '', 'Be brief'],
    ['@brief.txt', '', 'Be brief.\r\n'],
    ['@@brief.txt', '', '@brief.txt'],
    ['@-', 'Be kind\n', 'Be kind'],
    ['-', 'Be kind\n', 'Be kind'],
  ] as const)
    it(`is ${JSON.stringify(system)} for ${given}`, async () => {
      await complete(given, stdin)
      expect(contents()).to.deep.equal([system, 'Hello'])
    })

  it('is refused before anything is sent if its file or stdin cannot be read or is empty', async () => {
    expectFailure(await complete('@nowhere'), 2, 'Cannot read nowhere: no such file')
    expectFailure(await complete('@'), 2, 'Cannot read a file with an empty name')
    expectFailure(await complete('@image'), 2, 'image is not text: it has a NUL character at position 3')
    expectFailure(await complete('@blank.txt'), 2, 'The system message in blank.txt is empty')
    expectFailure(await complete('@-'), 2, 'The system message in stdin is empty')
    expect(server.requests).to.deep.equal([])
  })
})
