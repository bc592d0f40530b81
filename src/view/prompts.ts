import { textOf, type View, valueAt } from './view.ts'

export const promptsView: View = {
  layout: 'records',
  columns: [
    { path: 'name', whole: true },
    { path: 'description' },
    { path: 'model' },
    { path: 'variables', hidden: true },
    { path: 'path', hidden: true },
  ],
}

/** The file of a prompt. */
export const promptFileView: View = {
  layout: 'pairs',
  columns: [
    { path: 'name' },
    { path: 'path' },
    { path: 'model' },
    { path: 'temperature' },
    { path: 'max_tokens' },
    { path: 'variables' },
    { path: 'text' },
  ],
  text: (body) => textOf(valueAt(body, 'text')),
}

/** A prompt that was stored. */
export const promptSetView: View = {
  layout: 'records',
  columns: [{ path: 'name' }, { path: 'replaced' }, { path: 'path' }],
  isForTerminal: true,
  text: (body) =>
    `${valueAt(body, 'replaced') === true ? 'Replaced' : 'Created'} prompt "${textOf(valueAt(body, 'name'))}".`,
}

/** Prompts that were deleted. */
export const promptsDeletedView: View = {
  layout: 'records',
  columns: [{ path: 'name' }, { path: 'path', secondary: true }],
}
