const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** For texts and for attributes in quotes. A NUL, which HTML cannot hold, becomes U+FFFD. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => entities[mark] ?? '').replaceAll('\0', '\uFFFD')
}
