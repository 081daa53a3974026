// Stands for the theatre where there is none: its section is left out.
export const mount = null;
