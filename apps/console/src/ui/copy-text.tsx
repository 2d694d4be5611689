import { Copy } from 'lucide-react';
import { useId } from 'react';
import { IconButton } from './button';
import { showToast } from './toast';

/** A text with a button that copies it. */
export function CopyText({ label, text }: { label: string; text: string }) {
  const id = useId();
  const copyText = async () => {
    // The clipboard API exists only over https and on localhost. Elsewhere the user selects and copies the text.
    const copied = (navigator as Partial<Navigator>).clipboard?.writeText(text);
    showToast(
      await Promise.resolve(copied).then(
        () => 'Copied.',
        () => 'The browser does not allow copying. Select the text and copy it manually.',
      ),
    );
  };
  return (
    <div>
      <p id={id} className="mb-1 font-medium">
        {label}
      </p>
      <div className="flex items-start gap-1 rounded-control border border-line bg-sunken p-2">
        <pre aria-labelledby={id} className="min-w-0 grow font-mono text-xs break-all whitespace-pre-wrap select-all">
          {text}
        </pre>
        {'clipboard' in navigator && (
          <IconButton label="Copy" onClick={() => void copyText()}>
            <Copy aria-hidden className="size-4" />
          </IconButton>
        )}
      </div>
    </div>
  );
}
