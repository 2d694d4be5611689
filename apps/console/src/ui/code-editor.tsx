import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { callWhenLoaded } from './overlay/call-when-loaded';

interface CodeEditorProps {
  /** Accessible name of the editor. */
  label: string;
  /** Name of the form field, if the editor is part of a form. */
  name?: string;
  initial: string;
  onChange?: (code: string) => void;
  readOnly?: boolean;
}

const loadEditor = () => import('./code/code-mirror');
type Mirror = Awaited<ReturnType<typeof loadEditor>>['CodeMirror'];

/**
 * Shows and edits code. It starts as a plain text area, because the editor is larger than the rest of a page. The
 * editor is loaded after the page's data or on the first focus, and takes over the text, selection and focus.
 */
export function CodeEditor(props: CodeEditorProps) {
  // A new initial text replaces the editor.
  return <Editor key={props.initial} {...props} />;
}

function Editor({ label, name, initial, onChange, readOnly = false }: CodeEditorProps) {
  const client = useQueryClient();
  const [code, setCode] = useState(initial);
  const [editor, setEditor] = useState<{ Mirror: Mirror; marked: [from: number, to: number]; focus: boolean }>();
  const field = useRef<HTMLTextAreaElement>(null);
  const changeText = (next: string) => {
    setCode(next);
    onChange?.(next);
  };
  const takeOverText = async () => {
    try {
      const { CodeMirror } = await loadEditor();
      const { current: shown } = field;
      if (!shown) return;
      const focus = document.activeElement === shown;
      const marked: [number, number] = [shown.selectionStart, shown.selectionEnd];
      // The editor is shown synchronously. A key that is pressed between reading the text area and showing the editor
      // would otherwise be lost.
      flushSync(() => setEditor({ Mirror: CodeMirror, marked, focus }));
    } catch {
      // Without the editor, the text area stays usable.
    }
  };
  const whenLoaded = useEffectEvent(() => void takeOverText());
  useEffect(() => callWhenLoaded(client, whenLoaded), [client]);
  return (
    <>
      {name !== undefined && <input type="hidden" name={name} value={code} />}
      {editor ? (
        <editor.Mirror
          label={label}
          initial={code}
          marked={editor.marked}
          focus={editor.focus}
          onChange={changeText}
          readOnly={readOnly}
        />
      ) : (
        <textarea
          ref={field}
          aria-label={label}
          value={code}
          readOnly={readOnly}
          spellCheck={false}
          autoCapitalize="off"
          rows={Math.min(30, Math.max(8, code.split('\n').length))}
          className="block w-full resize-y rounded-control border border-edge bg-surface px-2.5 py-1 font-mono text-[0.8125rem] leading-[1.4]"
          onChange={({ target }) => changeText(target.value)}
          onFocus={() => void takeOverText()}
        />
      )}
    </>
  );
}
