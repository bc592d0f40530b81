import { type Migration, migrations } from '../../src/service/store/migrations.ts'

/** Adds a migration that no version has, so that data which was created before is of an older version. */
export async function withSecondMigration<T>(use: () => Promise<T>): Promise<T> {
  const all = migrations as Migration[]
  const number = all.length + 1
  all.push({
    number,
    name: 'next',
    statements: ({ integer }) => `create table extra_${number} (id ${integer} primary key)`,
  })
  try {
    return await use()
  } finally {
    all.pop()
  }
}
