import { Skeleton } from '../page';

/** Placeholder as high as a plot with its caption, so that the page below does not move when the plot is loaded. */
export function PlotSkeleton() {
  return (
    <div className="h-48 overflow-hidden">
      <Skeleton rows={6} />
    </div>
  );
}
