import { createHash } from 'node:crypto'
import { Html, html } from './html.ts'

interface DocumentHead {
  title: string
  /** CSS. The only style that the policy allows. */
  style: string
  /** Class of `<main>`. */
  className?: string | undefined
  /** A file has no response headers, so its head contains the policy. */
  isFile?: boolean
}

/** Everything before the content of `<main>`. */
export function openDocument({ title, style, className, isFile = false }: DocumentHead): string {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${isFile ? filePolicy(style) : html`<meta name="robots" content="noindex">`}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<main${className !== undefined && html` class="${className}"`}>
`
  return text
}

/** Everything after the content of `<main>`. */
export const closeDocument = `</main>
</body>
</html>
`

const filePolicy = (
  style: string,
) => html`<meta http-equiv="Content-Security-Policy" content="${new Html(ownContentOnly(style))}">
<meta name="referrer" content="no-referrer">`

/**
 * The policy of an HTTP response.
 * @param formAction where forms may be sent
 */
export function contentSecurityPolicy(style: string, formAction = "'none'"): string {
  // A `<meta>` element cannot contain frame-ancestors (CSP level 3, section 3.3).
  return `${ownContentOnly(style, formAction)}; frame-ancestors 'none'`
}

/** Allows one style, by its hash (CSP level 3, section 2.3.1): no script, no image, no frame. */
function ownContentOnly(style: string, formAction = "'none'"): string {
  const hash = createHash('sha256').update(style).digest('base64')
  return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action ${formAction}`
}
