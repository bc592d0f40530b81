/** Chinese and Japanese have no spaces between words: a line may end between any two characters. */
const wide = /[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60]/
/** But it neither begins with these nor ends with those (kinsoku shori). */
const neverFirst =
  /[、。，．・：；？！゛゜ー々〻ゝゞヽヾ’”）〕］｝〉》」』】〗〙…ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ]/
const neverLast = /[（〔［｛〈《「『【〖〘]/

/** Whether a line may end between two characters though there is no space. */
export function mayBreakBetween(before: string, after: string): boolean {
  // Nearly all text is below.
  if (before < '\u3000' || after < '\u3000') return false
  return wide.test(after) && wide.test(before) && !neverFirst.test(after) && !neverLast.test(before)
}
