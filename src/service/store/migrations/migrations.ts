import { initial } from './0001-initial.ts'
import { team } from './0002-team.ts'

export interface Migration {
  /** 1, 2, 3 …: the position in the list. */
  number: number
  name: string
  /** SQL as SQLite reads it, run in one transaction. */
  statements: string
}

/** Forward only: what is in this list has run somewhere and never changes. */
export const migrations: readonly Migration[] = [initial, team]
