/** A text that a model, a script or a file share may contain: markup, right-to-left text, emoji, and great length. */
export const hostileText = `<img src=x onerror="document.title='broken'"><b>bold</b> \u202Eשלום עולם\u202C 🦷👩‍⚕️ ${'x'.repeat(10_000)} the end`;
/** A similar file name: shorter, and without characters that a file name cannot contain. */
export const hostileName = '<b onclick=alert(1)>שן 🦷 & "x".dex';

/** Whether an image has loaded. */
export const isLoaded = (image: any): boolean => image.complete && image.naturalWidth > 0;
