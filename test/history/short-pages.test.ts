import { expect } from 'chai'
import { storeExchange } from '../../src/service/domain/chat/conversations.ts'
import { createId } from '../../src/service/domain/identifiers.ts'
import { startService } from '../../src/service/start-service.ts'
import { openStore } from '../../src/service/store/open-store.ts'
import { equip, withDirectory } from '../service/temporary-service.ts'
import { runChatctl } from '../support/run-chatctl.ts'
import { createSandbox } from '../support/sandbox.ts'
import { idsOf, readLines, runExport } from './export-run.ts'

describe('a history with messages so long that they fill a page before its limit', () => {
  it('is exported completely, and listed page by page', () =>
    withDirectory(async (dataDir) => {
      const store = await openStore({ dataDir })
      const stored: string[] = []
      for (let exchange = 0; exchange < 6; exchange++) {
        const [messageId, answerId] = [createId('msg'), createId('msg')]
        const at = new Date(Date.UTC(2026, 0, 1) + exchange * 60_000).toISOString()
        await storeExchange(store.db, {
          ...{
            userId: 'usr_admin',
            contextId: createId('ctx'),
            isNewContext: true,
            messageId,
            replyId: answerId,
          },
          ...{ message: 'm'.repeat(1_000_000), reply: 'ok', model: 'm' },
          ...{ incomplete: false, finishReason: 'stop', sentAt: at, createdAt: at },
        })
        stored.push(messageId, answerId)
      }
      await store.close()
      const service = equip(await startService({ dataDir }))
      const sandbox = createSandbox()
      const env = { CHATCTL_BASE_URL: service.url, CHATCTL_API_KEY: service.key }
      const exported = await runExport(sandbox, service.url, [], { env })
      expect(exported.exitCode, exported.stderr).to.equal(0)
      expect(idsOf(readLines(exported.stdout))).to.deep.equal(stored)
      expect(exported.stderr).to.equal('12 messages: 12 from the service, 0 from this machine\n')
      const listed: (string | undefined)[] = []
      for (let hasMore = true; hasMore; ) {
        const before = listed[0] === undefined ? [] : ['--before', listed[0]]
        const list = ['history', 'list', '-n', '100', '--json', ...before]
        const page = JSON.parse((await runChatctl(sandbox, list, { env })).stdout)
        listed.unshift(...idsOf(page.messages))
        hasMore = page.has_more
      }
      expect(listed).to.deep.equal(stored)
      sandbox.remove()
      await service.close()
    }))
})
