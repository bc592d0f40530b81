import { listView, type View } from './format/view.ts'

export const commandsView: View = {
  ...listView(`
    name:whole effect summary description:hidden usage:strings:hidden arguments:objects:hidden
    flags:objects:hidden non_interactive:any:hidden examples:objects:hidden requests:strings:hidden
    requests_note:hidden permissions:strings:hidden exit_codes:objects:hidden schema:object:hidden
    other_schemas:objects:hidden
  `),
  isCompact: true,
}
