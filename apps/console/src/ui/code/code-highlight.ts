import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { tags } from '@lezer/highlight';

/** Syntax colors from the design tokens, which are legible in both themes. */
export const codeHighlight = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--color-accent)', fontWeight: '600' },
    { tag: [tags.string, tags.special(tags.string)], color: 'var(--color-good)' },
    { tag: [tags.number, tags.bool, tags.null], color: 'var(--color-warn)' },
    { tag: tags.comment, color: 'var(--color-dim)', fontStyle: 'italic' },
    { tag: tags.invalid, color: 'var(--color-bad)' },
  ]),
);
