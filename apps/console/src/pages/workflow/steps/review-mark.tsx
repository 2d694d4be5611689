import { Eye } from 'lucide-react';
import { formatOffset } from '../../../format/format';
import { Button } from '../../../ui/button';
import type { Step } from '../use-editing';

interface ReviewMarkProps {
  step: Step;
  frameUrl: unknown;
  confirm?: () => Promise<void>;
  off: string | false;
}

/** The confidence, the video position and the review state of a step from a video. */
export function ReviewMark({ step, frameUrl, confirm, off }: ReviewMarkProps) {
  const { confidence, atMs, review } = step;
  if (typeof confidence !== 'number') return null;
  const percent = Math.round(confidence * 100);
  return (
    <div className="mt-1 flex flex-wrap items-start gap-x-3 gap-y-1 text-xs">
      <span className={review === 'needed' ? 'text-warn' : 'text-dim'}>
        {percent}% sure{typeof atMs === 'number' && `, seen at ${formatOffset(atMs)}`}
      </span>
      {review === 'needed' && (
        <span className="flex items-center gap-1 font-medium text-warn">
          <Eye aria-hidden className="size-3.5" /> review needed
        </span>
      )}
      {review === 'confirmed' && <span className="text-good">confirmed by a person</span>}
      {review === 'needed' && confirm && (
        <Button disabled={Boolean(off)} title={off || undefined} onClick={() => void confirm()}>
          Confirm
        </Button>
      )}
      {typeof frameUrl === 'string' && (
        <a href={frameUrl} target="_blank" rel="noreferrer" className="basis-full">
          <img
            src={frameUrl}
            alt={`The video where the step was seen`}
            loading="lazy"
            className="max-h-32 rounded-control border border-line"
          />
        </a>
      )}
    </div>
  );
}
