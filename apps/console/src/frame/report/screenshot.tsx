import { useEffect, useId, useState } from 'react';
import { Button, getButtonClass } from '../../ui/button';
import { canTakeScreenshots, mostBytes, takeScreenshot } from './take-screenshot';

const types = ['image/png', 'image/jpeg', 'image/webp'];

interface ScreenshotProps {
  picture: File | null;
  change: (picture: File | null) => void;
  /** Hides the dialog while the screenshot is taken. */
  hide: (hidden: boolean) => void;
}

/** Optional image of a report: a new screenshot, a file or a pasted image, with a preview and a button to remove it. */
export function Screenshot({ picture, change, hide }: ScreenshotProps) {
  const id = useId();
  const [fault, setFault] = useState('');
  const offerImage = (file: File | null) => {
    const wrong = file ? checkImage(file) : '';
    setFault(wrong);
    if (!wrong) change(file);
  };
  const takeAndOffer = async (button: HTMLElement) => {
    hide(true);
    try {
      const taken = await takeScreenshot();
      if (taken) offerImage(taken);
    } catch {
      setFault('This browser could not take a screenshot. Choose or paste an image instead.');
    }
    hide(false);
    // The button lost the focus when the dialog was hidden.
    requestAnimationFrame(() => button.focus());
  };
  useEffect(() => {
    const handlePaste = ({ clipboardData }: ClipboardEvent) => {
      const file = [...(clipboardData?.files ?? [])].find(({ type }) => types.includes(type));
      if (file) offerImage(file);
    };
    document.addEventListener('paste', handlePaste);
    return () => document.removeEventListener('paste', handlePaste);
  });
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex flex-wrap items-center gap-2">
        {canTakeScreenshots() && (
          <Button onClick={({ currentTarget }) => void takeAndOffer(currentTarget)}>Take screenshot</Button>
        )}
        <label htmlFor={id} className={`${getButtonClass()} cursor-pointer focus-within:outline-2`}>
          Choose image
          <input
            id={id}
            type="file"
            accept={types.join(',')}
            className="sr-only"
            onChange={({ target }) => {
              offerImage(target.files?.[0] ?? null);
              target.value = '';
            }}
          />
        </label>
        {picture && (
          <Button look="quiet" onClick={() => offerImage(null)}>
            Remove image
          </Button>
        )}
      </div>
      {picture ? (
        <Preview picture={picture} />
      ) : (
        <p className="text-xs text-dim">
          Optional, up to 5 MiB. You can also paste an image. Check it for confidential data.
        </p>
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
      alt="Screenshot in this report"
      className="max-h-40 self-start rounded-control border border-line object-contain"
    />
  );
}

function checkImage({ type, size }: File): string {
  if (!types.includes(type)) return 'Choose a PNG, JPEG or WebP image.';
  return size > mostBytes ? 'The image is larger than 5 MiB. Choose a smaller one.' : '';
}
