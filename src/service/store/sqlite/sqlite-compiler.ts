import { type SelectModifierNode, SqliteQueryCompiler } from 'kysely'

/** SQLite has no row locks: its transactions, begun IMMEDIATE, hold the whole database. */
export class SqliteCompiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier !== 'ForUpdate') super.visitSelectModifier(node)
  }
}
