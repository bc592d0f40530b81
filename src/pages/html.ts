/** Markup that is safe to show. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Content = string | number | Html | undefined | false | readonly Content[]

/** Inserts values into markup. Text is escaped; `Html` and lists of it are inserted unchanged. */
export function html(parts: TemplateStringsArray, ...values: Content[]): Html {
  return new Html(parts.reduce((text, part, index) => text + write(values[index - 1]) + part))
}

function write(value: Content): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(write).join('')
  return escapeHtml(String(value))
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  // HTML cannot contain NUL.
  '\0': '\uFFFD',
}

/** Escapes text for content and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'\0]/g, (character) => entities[character] ?? '')
}
