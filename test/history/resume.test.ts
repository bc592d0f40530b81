import { join } from 'node:path'
import { expect } from 'chai'
import { beforeWalk } from '../../src/client/history/walk-history.ts'
import type { HistoryMessage } from '../../src/contract/resources/conversation.ts'
import { PageStore } from '../../src/history/page-store.ts'
import { writeDocument } from '../../src/history/write-document.ts'
import { systemClock } from '../../src/system/clock.ts'
import { storedAt } from '../support/handlers/history.ts'
import { startChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { exportEnvironment } from './export-run.ts'
import { testResume } from './resume-suite.ts'

const keptMessages = /^\d+ messages saved\. To resume, run the same command\.$/m

testResume(
  'history export, after Ctrl-C',
  (sandbox, url) => {
    const running = startChatctl(sandbox, ['history', 'export'], { env: exportEnvironment(url) })
    const ended = running.ended.then(({ exitCode, stderr }) => {
      expect(stderr).to.match(keptMessages)
      return exitCode
    })
    return { end: () => running.interrupt(), ended }
  },
  130,
  [2, 9],
)

describe('a resumed export', () => {
  it('counts the messages that it writes, without earlier ones before --since', async () => {
    const sandbox = createSandbox()
    const store = new PageStore(join(sandbox.home, 'pages'), systemClock)
    store.append(0, storedAt([0, 1, 2]) as HistoryMessage[], beforeWalk)
    store.endPart(0, 'ended')
    const written = await writeDocument({
      format: 'jsonl',
      store,
      local: [],
      context: undefined,
      since: Date.UTC(2026, 0, 1, 0, 2),
      write: async () => {},
      signal: new AbortController().signal,
    })
    store.close()
    sandbox.remove()
    expect(written).to.deep.equal({ service: 1, local: 0 })
  })
})
