import { expect } from 'chai'
import { AnswerRecord } from '../../src/service/domain/answer-record.ts'
import { openSqlite } from '../../src/service/store/sqlite/open-sqlite.ts'
import { withFolder } from './temporary-service.ts'

describe('the record of an answer', () => {
  it('is never taken for stored because storing it has failed before', () =>
    withFolder(async (folder) => {
      const store = openSqlite(folder)
      const record = new AnswerRecord(store.db, {
        userId: 'usr_admin',
        contextId: 'ctx_1',
        opensContext: true,
        messageId: 'msg_1',
        answerId: 'msg_2',
        message: 'x',
        model: 'm',
        askedAt: new Date().toISOString(),
      })
      await record.take({ kind: 'delta', text: 'begun', model: 'm' })
      await store.close()
      await record.take({ kind: 'finish', reason: 'stop', model: 'm', usage: undefined })
      for (const time of ['first', 'second']) {
        expect(await record.store().catch(() => 'failed'), time).to.equal('failed')
      }
    }))
})
