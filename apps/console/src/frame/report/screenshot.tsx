import { useEffect, useId, useState } from 'react';
import { Button, buttonClass } from '../../ui/button';
import { canTakeScreenshots, mostBytes, takeScreenshot } from './take-screenshot';

const types = ['image/png', 'image/jpeg', 'image/webp'];

interface ScreenshotProps {
  picture: File | null;
  change: (picture: File | null) => void;
  /** Gets the dialog out of the picture, and back. */
  hide: (hidden: boolean) => void;
}

/** A picture to go with a report: taken here, chosen, or pasted; shown before it is sent, and left out as easily. */
export function Screenshot({ picture, change, hide }: ScreenshotProps) {
  const id = useId();
  const [fault, setFault] = useState('');
  const offer = (file: File | null) => {
    const wrong = file ? faultOf(file) : '';
    setFault(wrong);
    if (!wrong) change(file);
  };
  const take = async (button: HTMLElement) => {
    hide(true);
    try {
      const taken = await takeScreenshot();
      if (taken) offer(taken);
    } catch {
      setFault('This browser could not take one; choose or paste a picture.');
    }
    hide(false);
    // What is out of sight loses the focus.
    requestAnimationFrame(() => button.focus());
  };
  useEffect(() => {
    const pasted = ({ clipboardData }: ClipboardEvent) => {
      const file = [...(clipboardData?.files ?? [])].find(({ type }) => types.includes(type));
      if (file) offer(file);
    };
    document.addEventListener('paste', pasted);
    return () => document.removeEventListener('paste', pasted);
  });
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex flex-wrap items-center gap-2">
        {canTakeScreenshots() && (
          <Button onClick={({ currentTarget }) => void take(currentTarget)}>Take screenshot</Button>
        )}
        <label htmlFor={id} className={`${buttonClass()} cursor-pointer focus-within:outline-2`}>
          Choose picture
          <input
            id={id}
            type="file"
            accept={types.join(',')}
            className="sr-only"
            onChange={({ target }) => {
              offer(target.files?.[0] ?? null);
              target.value = '';
            }}
          />
        </label>
        {picture && (
          <Button look="quiet" onClick={() => offer(null)}>
            Leave it out
          </Button>
        )}
      </div>
      {picture ? (
        <Preview picture={picture} />
      ) : (
        <p className="text-xs text-dim">Optional, up to 5 MiB; a picture can be pasted here too. Mind what it shows.</p>
      )}
      {fault && (
        <p role="alert" className="text-xs text-bad">
          {fault}
        </p>
      )}
    </div>
  );
}

function Preview({ picture }: { picture: File }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(picture);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [picture]);
  return (
    <img
      src={url}
      alt="The screenshot that goes with the report"
      className="max-h-40 self-start rounded-control border border-line object-contain"
    />
  );
}

function faultOf({ type, size }: File): string {
  if (!types.includes(type)) return 'It must be a PNG, JPEG or WebP picture.';
  return size > mostBytes ? 'It is larger than 5 MiB.' : '';
}
