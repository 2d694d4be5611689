import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { flushSync } from 'react-dom';

interface CodeEditorProps {
  /** Its name, for those who do not see what is above it. */
  label: string;
  /** The field's name, where it stands in a form. */
  name?: string;
  initial: string;
  onChange?: (code: string) => void;
  readOnly?: boolean;
}

const load = () => import('./code/code-mirror');
type Mirror = Awaited<ReturnType<typeof load>>['CodeMirror'];

/**
 * Code that is read, and written. It begins as a plain field, which is all that reading takes; the editor, which is
 * larger than the rest of a page, comes once the page is idle, or with the first touch, and goes on where the field was.
 */
export function CodeEditor(props: CodeEditorProps) {
  // Another text from outside is another thing to edit.
  return <Editor key={props.initial} {...props} />;
}

function Editor({ label, name, initial, onChange, readOnly = false }: CodeEditorProps) {
  const [code, setCode] = useState(initial);
  const [editor, setEditor] = useState<{ Mirror: Mirror; marked: [from: number, to: number]; focus: boolean }>();
  const field = useRef<HTMLTextAreaElement>(null);
  const change = (next: string) => {
    setCode(next);
    onChange?.(next);
  };
  const takeOver = async () => {
    try {
      const { CodeMirror } = await load();
      const { current: shown } = field;
      if (!shown) return;
      const focus = document.activeElement === shown;
      const marked: [number, number] = [shown.selectionStart, shown.selectionEnd];
      // At once: a key that is pressed between what is read here and the editor's own field would go nowhere.
      flushSync(() => setEditor({ Mirror: CodeMirror, marked, focus }));
    } catch {
      // The plain field does as well.
    }
  };
  const whenIdle = useEffectEvent(() => void takeOver());
  useEffect(() => onceIdle(whenIdle), []);
  return (
    <>
      {name !== undefined && <input type="hidden" name={name} value={code} />}
      {editor ? (
        <editor.Mirror
          label={label}
          initial={code}
          marked={editor.marked}
          focus={editor.focus}
          onChange={change}
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
          onChange={({ target }) => change(target.value)}
          onFocus={() => void takeOver()}
        />
      )}
    </>
  );
}

const idleWithinMs = 2000;

/** Calls once the browser has nothing else to do; answers how that is called off. Safari does not say when that is. */
function onceIdle(call: () => void): () => void {
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(call, idleWithinMs);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(call, { timeout: idleWithinMs });
  return () => cancelIdleCallback(handle);
}
