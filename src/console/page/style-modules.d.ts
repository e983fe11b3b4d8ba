/** The bundler collects style sheets that are imported. */
declare module "*.css";
