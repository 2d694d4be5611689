import { Copy } from 'lucide-react';
import { useId } from 'react';
import { IconButton } from './button';
import { toast } from './toast';

/** A text to be taken along. */
export function CopyText({ label, text }: { label: string; text: string }) {
  const id = useId();
  const copy = async () => {
    // Only there on https and on this machine; elsewhere it is marked by hand.
    const copied = (navigator as Partial<Navigator>).clipboard?.writeText(text);
    toast(
      await Promise.resolve(copied).then(
        () => 'Copied.',
        () => 'This browser does not let it be copied: mark it by hand.',
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
          <IconButton label="Copy" onClick={() => void copy()}>
            <Copy aria-hidden className="size-4" />
          </IconButton>
        )}
      </div>
    </div>
  );
}
