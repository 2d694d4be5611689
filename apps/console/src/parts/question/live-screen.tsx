import { type ReactNode, useRef, useState } from 'react';
import { type ScreenInput, screensInput } from '../../api/generated';
import { useScreen } from '../../live/use-screen';
import { Button } from '../../ui/button';
import { inputClass } from '../../ui/form';
import { showErrorToast } from '../../ui/toast';

interface LiveScreenProps {
  jobId: string;
  /** Whether the user can click and type in the shown browser. */
  usable: boolean;
  /** Shown while there is no image of the browser. */
  children: ReactNode;
}

/** Distance of one press of a scroll button, in CSS pixels of the page. */
const scrollStep = 400;

/** The browser of a run as it is now. If the run asks for it, clicks and text are sent to the browser. */
export function LiveScreen({ jobId, usable, children }: LiveScreenProps) {
  const screen = useScreen(jobId);
  const send = useInputQueue(jobId);
  if (!screen) return children;
  const { url, width, height } = screen;
  const image = (
    <img
      src={url}
      alt="The browser of the run, live"
      data-testid="screen"
      draggable={false}
      className="max-h-[70dvh] max-w-full rounded-control border border-line object-contain"
    />
  );
  if (!usable) return <div className="self-start">{image}</div>;
  return (
    <div className="flex max-w-full flex-col gap-2 self-start">
      <button
        type="button"
        aria-label="Click into the browser"
        className="cursor-crosshair self-start"
        onClick={({ currentTarget, clientX, clientY, detail }) => {
          // A click that is made with the keyboard has no position.
          if (detail === 0) return;
          const box = currentTarget.querySelector('img')!.getBoundingClientRect();
          const x = Math.round(((clientX - box.left) / box.width) * width);
          const y = Math.round(((clientY - box.top) / box.height) * height);
          send({ kind: 'click', x: clampValue(x, width), y: clampValue(y, height) });
        }}
      >
        {image}
      </button>
      <InputTools send={send} middle={{ x: Math.round(width / 2), y: Math.round(height / 2) }} />
      <p className="text-xs text-dim">
        You are using the browser of the run. Click into the picture, and type below. Each action is recorded in the
        audit log, without the text that you type.
      </p>
    </div>
  );
}

type Send = (input: ScreenInput) => void;

/** Text and keys for the element of the page that has the focus, and scrolling, also for phones. */
function InputTools({ send, middle }: { send: Send; middle: { x: number; y: number } }) {
  const [text, setText] = useState('');
  return (
    <form
      className="flex flex-wrap gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (text) send({ kind: 'type', text });
        setText('');
      }}
    >
      <input
        aria-label="Text for the browser"
        placeholder="Text for the browser"
        value={text}
        maxLength={1000}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        onChange={({ target }) => setText(target.value)}
        className={`${inputClass} max-w-60`}
      />
      <Button type="submit">Type</Button>
      {(['Enter', 'Tab', 'Backspace'] as const).map((key) => (
        <Button key={key} onClick={() => send({ kind: 'key', key })}>
          {key}
        </Button>
      ))}
      <Button onClick={() => send({ kind: 'scroll', ...middle, deltaY: -scrollStep })}>Scroll up</Button>
      <Button onClick={() => send({ kind: 'scroll', ...middle, deltaY: scrollStep })}>Scroll down</Button>
    </form>
  );
}

/** Returns a function that sends inputs one after the other, so that they arrive in their order. */
function useInputQueue(jobId: string): Send {
  const last = useRef<Promise<unknown>>(Promise.resolve());
  return (body) => {
    last.current = last.current.then(() => screensInput({ path: { id: jobId }, body })).catch(showErrorToast);
  };
}

function clampValue(value: number, max: number): number {
  return Math.min(Math.max(value, 0), max);
}
