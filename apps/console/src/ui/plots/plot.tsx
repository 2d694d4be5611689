import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useDisplayedTheme } from '../../frame/theme';

export type PlotColors = (name: string) => string;

/** Style of every axis. */
export function createAxis(color: PlotColors): uPlot.Axis {
  return { stroke: color('dim'), grid: { stroke: color('line'), width: 1 }, ticks: { show: false } };
}

/** Style of the axis below a plot. Its labels need less height than the library reserves. */
export function createBottomAxis(color: PlotColors): uPlot.Axis {
  return { ...createAxis(color), grid: { show: false }, size: 28 };
}

interface PlotProps {
  height: number;
  data: uPlot.AlignedData;
  /** Options of the plot except its size. Only new data or a new theme redraw the plot; a new function does not. */
  look: (color: PlotColors) => Omit<uPlot.Options, 'width' | 'height'>;
  /** Called with the index of the clicked column. */
  pick?: (index: number) => void;
}

/** A plot as wide as its container. It is hidden from screen readers, so its data must also be shown as text. */
export function Plot({ height, data, look, pick }: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef({ look, pick });
  const theme = useDisplayedTheme();
  const key = JSON.stringify(data);
  useEffect(() => {
    latest.current = { look, pick };
  });
  useEffect(() => {
    const element = host.current!;
    const style = getComputedStyle(element);
    const resolveStyleColor = (name: string) => resolveColor(element, style.getPropertyValue(`--color-${name}`));
    const options = latest.current.look(resolveStyleColor);
    const plot = new uPlot({ ...options, width: element.clientWidth || 300, height }, data, element);
    const openPressedPoint = () => typeof plot.cursor.idx === 'number' && latest.current.pick?.(plot.cursor.idx);
    plot.over.addEventListener('click', openPressedPoint);
    const fit = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    fit.observe(element);
    return () => {
      fit.disconnect();
      plot.destroy();
    };
    // Compares the data by their JSON, because each render creates new arrays.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key, theme, height]);
  return <div ref={host} aria-hidden className="min-w-0 overflow-hidden" style={{ height }} />;
}

/** Resolves a color in the DOM, because a canvas does not support light-dark(). */
function resolveColor(element: HTMLElement, value: string): string {
  const probe = document.createElement('span');
  probe.style.color = value;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
