import { expect } from 'chai'
import { StoredReply } from '../../../src/service/domain/chat/chat-stream.ts'
import { createId } from '../../../src/service/domain/identifiers.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { withDirectory } from '../temporary-service.ts'

/** The first message of a conversation, with a reply to come. */
const firstExchange = () => ({
  ...{ userId: 'usr_admin', contextId: createId('ctx'), isNewContext: true },
  ...{ messageId: createId('msg'), replyId: createId('msg') },
  ...{ message: 'hello', model: 'm', sentAt: new Date().toISOString() },
})

describe('a reply that is stored while it arrives', () => {
  it('is stored by the next attempt after one has failed', () =>
    withDirectory(async (directory) => {
      const { db, connection, close } = openSqlite(directory)
      const record = new StoredReply(db, firstExchange(), systemClock)
      await record.take({ kind: 'delta', text: 'one ', model: 'm' })
      await record.take({ kind: 'delta', text: 'two', model: 'm' })
      await record.take({ kind: 'finish', reason: 'stop', model: 'm', usage: undefined })
      connection.exec(
        "create trigger full before update on messages begin select raise(abort, 'no room'); end",
      )
      expect(await record.store().catch(String)).to.include('no room')
      connection.exec('drop trigger full')
      await record.store()
      const { content, incomplete } = await db
        .selectFrom('messages')
        .select(['content', 'incomplete'])
        .where('role', '=', 'assistant')
        .executeTakeFirstOrThrow()
      expect({ content, incomplete }).to.deep.equal({ content: 'one two', incomplete: 0 })
      await close()
    }))

  it('is not stored later if its first piece could not be stored', () =>
    withDirectory(async (directory) => {
      const { db, connection, close } = openSqlite(directory)
      const record = new StoredReply(db, firstExchange(), systemClock)
      connection.exec(
        "create trigger full before insert on messages begin select raise(abort, 'no room'); end",
      )
      const failure = await record.take({ kind: 'delta', text: 'one ', model: 'm' }).catch(String)
      expect(failure).to.include('no room')
      connection.exec('drop trigger full')
      await record.store()
      expect(await db.selectFrom('messages').select('id').execute()).to.deep.equal([])
      await close()
    }))
})
