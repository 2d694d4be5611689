import { python } from '@codemirror/lang-python';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { basicSetup } from 'codemirror';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { readStyleNonce } from '../read-style-nonce';
import { codeHighlight } from './code-highlight';

interface CodeMirrorProps {
  label: string;
  initial: string;
  /** Range that was selected in the text area whose place the editor takes. */
  marked: [from: number, to: number];
  focus: boolean;
  onChange: (code: string) => void;
  readOnly: boolean;
}

/** An editor for Python, in its own bundle because it is larger than the rest of a page (see CodeEditor). */
export function CodeMirror({ label, readOnly, onChange, ...begin }: CodeMirrorProps) {
  const host = useRef<HTMLDivElement>(null);
  const changed = useRef(onChange);
  // The editor has its own state; later changes of the initial values have no effect.
  const [{ initial, marked, focus }] = useState(begin);
  useEffect(() => {
    changed.current = onChange;
  });
  useLayoutEffect(() => {
    const view = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: initial,
        extensions: [
          codeHighlight,
          basicSetup,
          python(),
          look,
          EditorView.lineWrapping,
          EditorView.cspNonce.of(readStyleNonce()),
          EditorState.readOnly.of(readOnly),
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) changed.current(state.doc.toString());
          }),
        ],
      }),
    });
    const end = view.state.doc.length;
    view.dispatch({ selection: { anchor: Math.min(marked[0], end), head: Math.min(marked[1], end) } });
    // Removing the text area moved the focus to the body. If another element has it by now, that element keeps it.
    if (focus && document.activeElement === document.body) view.focus();
    // Makes the element focusable, so that it can be scrolled with the keyboard.
    view.scrollDOM.tabIndex = 0;
    return () => view.destroy();
  }, [initial, marked, focus, label, readOnly]);
  return <div ref={host} className="overflow-hidden rounded-control border border-edge bg-surface" />;
}

const look = EditorView.theme({
  '&': { fontSize: '0.8125rem', maxHeight: '60vh', backgroundColor: 'var(--color-surface)', color: 'var(--color-ink)' },
  '.cm-scroller': { overflow: 'auto', fontFamily: 'var(--font-mono)', minHeight: '8rem' },
  '.cm-content': { caretColor: 'var(--color-ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--color-ink)' },
  '.cm-gutters': { backgroundColor: 'var(--color-sunken)', color: 'var(--color-dim)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--color-sunken)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--color-picked) !important',
  },
});
