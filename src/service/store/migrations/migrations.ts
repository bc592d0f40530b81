import { initial } from './0001-initial.ts'
import { team } from './0002-team.ts'
import { trusts } from './0003-trusts.ts'

export interface Migration {
  /** 1, 2, 3 …: the position in the list. */
  number: number
  name: string
  /** SQL of SQLite, run in one transaction. */
  statements: string
  /** SHA-256 of the statements, in hexadecimal digits. Default: computed, which loads node:crypto. */
  checksum?: string
}

/** Only append to this list: these migrations have run on existing databases. */
export const migrations: readonly Migration[] = [initial, team, trusts]
