/** Markup that is safe to show. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Content = string | number | Html | undefined | false | readonly Content[]

/** Markup with values in it: texts are escaped, markup and lists of it go in as they are. */
export function html(parts: TemplateStringsArray, ...values: Content[]): Html {
  return new Html(parts.reduce((text, part, index) => text + write(values[index - 1]) + part))
}

function write(value: Content): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(write).join('')
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
